// Generated kernels, compiled and run, give the bits of the reference interpreter, fused or not.
#include "kernel_driver.h"

namespace suture {
namespace {

struct Program {
  const char* name;
  const char* script;
};

std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

class KernelRun : public testing::TestWithParam<Program> {};

TEST_P(KernelRun, equals_the_interpreter) {
  KernelDriver fused(GetParam().script), separate(GetParam().script, false);
  fused.expect_same_as_interpreter(1);
  if (separate.code().cpp != fused.code().cpp) separate.expect_same_as_interpreter(2);
}

const Program kPrograms[] = {
    {"sum_with_epilogue_and_result",
     "x = input float64 50,41\none = const int64 pyint 1\nzero = const int64 pyint 0\ny = add x one\ns = sum "
     "y all\n"
     "g = gt s zero\nreturn g y\n"},
    {"long_pairwise_sum",
     "x = input float64 100003\ny = square x\ns = sum y all\nt = sum x all\nreturn s t\n"},
    {"float32_rows",
     "x = input float32 7,1100\nm = mean x axes=1 keepdims\nd = sub x m\nv = var x axes=1\nreturn d v\n"},
    {"row_sums", "x = input float32 300,17\ns = sum x axes=0\nreturn s\n"},
    {"middle_axis", "x = input float64 5,60,7\ns = sum x axes=1\nm = max x axes=1\nreturn s m\n"},
    {"gathered_small_view", "x = input float64 9,15\nv = slice x 1:1:7 1:2:7\ns = sum v all\nreturn s\n"},
    {"converted_sum", "x = input float32 20000\ns = sum x all dtype=float64\nreturn s\n"},
    {"converted_rows", "x = input float32 3,9000\ns = sum x axes=1 dtype=float64\nreturn s\n"},
    {"reversed_view", "x = input float64 1000 -1\ns = sum x all\nreturn s\n"},
    {"fortran_order",
     "x = input float64 30,40 1,30\ny = abs x\ns = sum y axes=0\nt = sum y axes=1\nreturn y s t\n"},
    {"broadcast_inside_a_flat_run",
     "x = input float64 37,50\nr = input float64 50\ny = add x r\ns = sum y all\nreturn s\n"},
    {"products_and_truth",
     "x = input int32 3,40\np = prod x axes=1\na = any x axes=0\nb = all x all\nreturn p a b\n"},
    {"first_extremes",
     "x = input float64 20,30\na = argmax x axes=1\nb = argmin x axes=0\nc = argmax x all\nreturn a b c\n"},
    {"extremes", "x = input float32 20,300\na = max x axes=1\nb = min x all\nreturn a b\n"},
    {"transposed_temporary",
     "x = input float64 4,5\nz = input float64 5,4\na = abs x\nt = transpose a axes=1,0\nb = add t z\nreturn "
     "b a\n"},
    {"reshaped_temporary",
     "x = input float64 4,6\nz = input float64 3,8\na = abs x\nt = reshape a dims=3,8\nb = add t z\nreturn "
     "b\n"},
    {"overlapping_store",
     "x = input float64 9\na = slice x 1:1:8\nb = slice x 0:1:8\ns = store a b\ny = neg x\nreturn y\n"},
    {"in_place_update",
     "x = input float64 9\nc = const int64 pyint 3\na = mul x c\ns = store x a\ny = neg x\nreturn y x\n"},
    {"points",
     "x = input float64 700,3\nr = input float64 3\nc = input float64 700,1\nd = div x r\ny = mul d "
     "c\nreturn y d\n"},
    {"distances_of_points",
     "x = input float32 333,3\nr = input float32 3\nd = sub x r\nq = square d\ns = sum q axes=1\ny = sqrt "
     "s\nreturn y\n"},
    {"columns_of_points",
     "x = input float64 700,5\nr = input float64 5\nd = div x r\ns = sum d axes=0\nm = max d axes=0\nreturn "
     "s m\n"},
    {"small_matrices",
     "x = input float64 90,2,3 12,6,2\nm = input float64 2,3\nd = div x m\ns = sum d axes=2\nreturn s d\n"},
    {"empty", "x = input float64 0,5\ns = sum x axes=0\nt = sum x axes=1\nu = sum x all\nreturn s t u\n"},
    {"rank_zero", "x = input float64 array\nn = input float64 pyfloat\ny = mul x n\nreturn y\n"},
    {"arange",
     "a = const float64 pyfloat 0.3\nb = const float64 pyfloat 0.7\nr = arange a b dims=50 "
     "dtype=float64\nreturn r\n"},
    {"mixed_dtypes",
     "x = input float32 40\ni = input int32 40\nb = input bool 40\ny = add x i\nz = where b y x\nreturn z\n"},
    {"integer_division",
     "x = input int32 40\nd = const int64 pyint 7\nq = floordiv x d\nr = mod x d\nreturn q r\n"},
    {"symbolic_sizes",
     "r = symbol 50\nc = symbol 33\nx = input float64 r,c\ny = square x\ns = sum y all\nm = sum x "
     "axes=1\nreturn y s m\n"},
};

INSTANTIATE_TEST_SUITE_P(Programs, KernelRun, testing::ValuesIn(kPrograms),
                         [](const testing::TestParamInfo<Program>& param) {
                           return std::string(param.param.name);
                         });

TEST(KernelRun, symbolic_kernels_serve_every_size) {
  KernelDriver driver(
      "r = symbol 50\nc = symbol 33\nx = input float64 r,c\ny = square x\ns = sum y all\nm = sum x "
      "axes=0\nreturn y s m\n");
  driver.expect_same_as_interpreter(3, {2, 3});
  driver.expect_same_as_interpreter(4, {200, 41});
}

// NumPy's pairwise sum, written once more.
double pairwise(const std::vector<double>& x, size_t first, size_t count) {
  if (count > 128) {
    const size_t half = count / 2 - count / 2 % 8;
    return pairwise(x, first, half) + pairwise(x, first + half, count - half);
  }
  double lanes[8], total = -0.0;
  size_t i = 0;
  if (count >= 8) {
    for (; i < 8; ++i) lanes[i] = x[first + i];
    for (; i + 8 <= count; i += 8)
      for (size_t lane = 0; lane < 8; ++lane) lanes[lane] += x[first + i + lane];
    total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  for (; i < count; ++i) total += x[first + i];
  return total;
}

// The elements of `view` in C order.
std::vector<double> flat(const BufferView& view) {
  const std::vector<std::byte> bytes = elements(view);
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(KernelRun, a_large_strided_view_is_summed_in_gathered_chunks) {
  KernelDriver driver("x = input float64 90,150\nv = slice x 1:1:88 1:1:148\ns = sum v all\nreturn s v\n");
  const std::vector<BufferView> results = driver.run(5);
  const std::vector<double> view = flat(results[1]);
  const size_t chunk = 148 * (8192 / 148);
  EXPECT_EQ(flat(results[0])[0], pairwise(view, 0, chunk) + pairwise(view, chunk, view.size() - chunk));
}

TEST(KernelRun, sums_of_outer_and_inner_axes_add_one_run_after_the_other) {
  KernelDriver driver(
      "x = input float64 3,2,200\ns = sum x axes=0,2\nv = slice x 0:1:3 0:1:2 0:1:200\nreturn s v\n");
  const std::vector<BufferView> results = driver.run(6);
  const std::vector<double> x = flat(results[1]);
  for (size_t kept = 0; kept < 2; ++kept) {
    double total = 0;
    for (size_t outer = 0; outer < 3; ++outer) total += pairwise(x, (outer * 2 + kept) * 200, 200);
    EXPECT_EQ(flat(results[0])[kept], total);
  }
}

}  // namespace
}  // namespace suture
