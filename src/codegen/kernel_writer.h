// KernelWriter: the C++ text of one kernel group. Private to this room; emit_kernel.cpp holds the loops,
// emit_expression.cpp the statements, emit_reduction.cpp the reductions, emit_short_rows.cpp loops over short last axes.
//
// Shape of the text
//   static inline uint32_t <name>(typed pointers, sizes)   the loops
//   extern "C" uint32_t <name>(buffers, sizes)             unpacks the arguments (plan/kernel_abi.h)
// Levels
//   An expression is computed in the outermost loop in which all its indices are known (level 0 = before all
//   loops), so a scalar factor or a row's value is computed once; memory is only touched inside every loop that
//   may have no iteration. Expressions that need a reduced value are `late`: they follow it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/conditions.h"
#include "codegen/cpp_text.h"
#include "codegen/emit.h"

namespace suture {

class KernelWriter {
 public:
  KernelWriter(const KernelGroup& group, const Schedule& schedule, const Graph& graph,
               const CodegenOptions& options);
  Result<std::string> run();
  // After run(): what the launch plan must pass.
  const std::vector<BufferId>& arguments() const { return arguments_; }
  const std::vector<SymbolId>& symbols() const { return symbols_; }
  // What the lines of the text are made from; the first line of the kernel is 1.
  const std::vector<CodeLine>& lines() const { return lines_; }

 private:
  // emit_kernel.cpp
  void collect_arguments();
  void collect_symbols();
  std::vector<bool> needed_after_reductions() const;
  void assign_levels();
  void find_conditions_of_nest();
  Status check_levels() const;
  std::string parameter(BufferId id) const;
  void write_header();
  void write_entry();
  void write_elementwise();
  void open_loop(size_t axis);
  void write_level(size_t level);  // expressions and stores whose level this is
  const SymInt& extent(size_t axis) const { return nest_.extents[axis]; }
  std::string cpp(const SymInt& value) const;  // as a C++ expression, in parentheses when it is a sum
  std::string symbolic_int(const SymInt& value) const;

  // emit_short_rows.cpp
  struct ShortRows {
    size_t first;              // this axis and all behind it are one loop
    int64_t row;               // elements behind `first`
    int64_t count;             // rows of a block
    std::vector<bool> inside;  // per expression: computed in that loop
    std::vector<std::string>
        block;                  // per expression: the array that holds its values; "" for what is not copied
    std::string position = {};  // of a row in its block, while rows are reduced
  };
  void forbid_masked_lanes(const SymInt& size);
  bool in_block_order(const Access& access, size_t first) const;
  bool shared_by_rows(const Access& access) const;
  bool store_inside_rows(const Store& store, size_t first) const;
  bool reduces_rows_or_keeps_them(size_t first) const;
  void find_short_rows();
  std::vector<ExprId> declare_rows();
  void fill_rows(ExprId id, const std::string& rows);
  void write_short_rows();
  void write_elements_of_rows(const std::string& rows);
  void write_reductions_of_rows(const std::string& rows);
  std::string open_loops_of_row(size_t last);
  void close_loops_of_row(size_t last);
  void reduce_each_row();
  void add_each_row();
  std::string block_element(const Access& access) const;

  // emit_expression.cpp
  std::string expression(ExprId id);  // text of the value, computing nothing twice
  void define(ExprId id);             // emits `const T name = ...;` unless the value is written inline
  std::string operation(const Expr& expr);
  std::string cast(const Expr& expr);
  std::string operand(const Expr& expr, size_t position);  // hidden from constant folding where needed
  void keep(const std::string& value, DType dtype);        // its flags count
  std::string loaded(ExprId id) const;                     // the text of a load
  std::string element(const Access& access) const;         // "in0_x[32 * i0 + i1]"
  void write_store(const Store& store);
  std::string comment(const UserSpan& where, const std::string& what) const;
  void note(CodeLine::Kind kind, NodeId node,
            const UserSpan& where);  // the line written last is made from this
  void note(const Expr& expr);
  std::string stem(const Expr& expr) const;
  bool level_is_inside_run(size_t level) const { return level > nest_.reductions.front().order.outer.size(); }

  // emit_reduction.cpp
  Status write_reductions();
  void write_inside_kept_loops();         // kept axes outside: scalar accumulators, epilogue
  Status write_accumulating_in_memory();  // rows: accumulators are the result buffers
  const Store* accumulator_store(size_t r) const;
  void declare_accumulators();
  void write_reduced_loops(size_t first_axis);
  void write_run();
  void write_blocks(const std::string& total, const std::string& base);
  void write_block_body(const std::string& count, const std::string& base);
  void fill_block(const std::string& position);
  void declare_blocks();
  void combine_blocks(const std::string& count, const std::string& base,
                      const std::vector<std::string>& trees);
  std::string block_address(size_t r, const std::string& base);
  bool needs_blocks() const;
  void write_late();
  bool sums_exactly(const Reduction& reduction) const;
  bool reads_memory_directly(const Reduction& reduction) const;
  bool tells_zeros_apart(const Reduction& reduction) const;
  void declare_zeros(size_t r);
  void report_zeros(size_t r);
  std::string identity(const Reduction& reduction) const;
  std::string combined(const Reduction& reduction, const std::string& total, const std::string& value) const;
  std::string reduction_comment(const Reduction& reduction) const;
  void reduction_line(const Reduction& reduction, const std::string& code, bool commented = true);

  const KernelGroup& group_;
  const Nest& nest_;
  const Schedule& schedule_;
  const Graph& graph_;
  const CodegenOptions& options_;
  CppWriter out_;
  std::vector<CodeLine> lines_;
  NameScope names_;
  std::vector<BufferId> arguments_;
  std::vector<SymbolId> symbols_;
  std::map<BufferId, std::string> argument_name_;
  std::vector<std::string> symbol_name_;  // by SymbolId
  std::vector<std::string> index_;        // C++ text of the index of each axis
  NestLevels levels_;
  Conditions conditions_;
  std::optional<ShortRows> short_rows_;  // nullopt: every axis has a loop of its own
  bool walking_rows_ = false;            // in the loop over the elements of a block of rows
  bool keeps_f64_ = false, keeps_f32_ = false;
  std::vector<std::string> value_;  // per expression: name or inline text, once defined
  std::vector<std::string> accumulator_, block_, best_, zeros_;  // per reduction
};

}  // namespace suture
