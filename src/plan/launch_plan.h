// LaunchPlan: what the runtime does per call of one compiled graph. Pure data, produced by codegen, executed
// by runtime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/user_span.h"
#include "ops/dtype.h"
#include "ops/op_info.h"
#include "sym/sym_int.h"

namespace suture {

// Memory of one array-like value. Strides in elements.
struct BufferSpec {
  enum class Kind : uint8_t {
    kInput,   // placeholder `input`
    kTemp,    // arena memory of the call
    kOutput,  // a fresh NumPy array or scalar
    kView,    // a view of buffer `base` at element offset `offset`
  } kind = Kind::kTemp;
  int input = -1;
  int base = -1;
  DType dtype = DType::kFloat64;
  ValueClass value_class = ValueClass::kArray;
  std::vector<SymInt> shape, strides;
  SymInt offset = 0;
  bool writeable =
      true;  // kView: false for np.broadcast_to; a view of something read-only is read-only anyhow
  friend bool operator==(const BufferSpec&, const BufferSpec&) = default;
};

struct LaunchStep {
  enum class Kind : uint8_t { kKernel, kNumpyCall } kind = Kind::kKernel;
  std::string kernel;         // kKernel: symbol name in the library
  std::vector<int> buffers;   // kKernel: arguments in ABI order. kNumpyCall: operands
  std::vector<SymInt> sizes;  // kKernel: ABI `sizes`
  OpId op = OpId::kMatmul;    // kNumpyCall: which NumPy callable
  int result = -1;            // kNumpyCall: buffer that receives the result (kind kOutput or kTemp)
  std::vector<int>
      axes;  // kNumpyCall of a reduction: axis= (sorted), keepdims=, dtype= (always the result's)
  bool all_axes = false;
  bool keepdims = false;
  std::optional<DType> dtype;
  std::string why;      // kNumpyCall of a reduction: why no kernel does it
  std::string spelled;  // for logs: "np.matmul"
  UserSpan where;
};

struct LaunchPlan {
  std::vector<BufferSpec> buffers;
  std::vector<LaunchStep> steps;
  std::vector<int> outputs;  // buffer per graph output; a kInput or kView buffer is returned as (a view of)
                             // the input array
  std::vector<int> written;  // kInput buffers whose memory kernels store into (directly or through a view)
  // The parts of them that kernels store into, as views: what is saved before the call, for a replay. Parts that are stored
  // into twice stand here once.
  std::vector<BufferSpec> overwritten;
  bool can_replay =
      true;  // false: no step can meet a condition that NumPy would have to tell, so nothing is saved
};

}  // namespace suture
