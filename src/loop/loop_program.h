// LoopProgram: a lowered graph as loop nests over buffers. Scheduling decides which nests become one kernel.
//
// Overview
//   A Nest iterates over `axes` (extents) and computes one scalar expression per element. Reads are affine in
//   the axis variables: element index = offset + sum(axis_k * stride_k), so views, broadcasts and transposes
//   are just coefficients. A reduction nest marks some axes as reduced and has a combiner; its epilogue sees
//   the reduced value.
// Invariants
//   - Nests are in program order; a nest that stores into memory other nests read is never moved across them.
//   - Expressions are trees of ExprId into one arena per nest; operands come before users.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/sum_order.h"

namespace suture {

using BufferId = int;
using ExprId = int;

struct Buffer {
  enum class Kind : uint8_t { kInput, kTemp, kOutput, kView } kind = Kind::kTemp;
  NodeId node = kNoNode;  // graph node whose value it holds
  int input = -1;         // kInput: placeholder position
  BufferId base = -1;     // kView
  SymInt offset = 0;      // kView: elements from the start of base
  DType dtype = DType::kFloat64;
  ValueClass value_class = ValueClass::kArray;
  std::vector<SymInt> shape, strides;  // elements
  std::string name;                    // C++ identifier
};

struct Access {
  BufferId buffer = -1;
  SymInt offset = 0;
  std::vector<SymInt> strides;  // per axis of the nest
};

struct Expr {
  enum class Kind : uint8_t { kLoad, kOp, kCast, kConstant, kSymbol, kAxis, kReduced } kind = Kind::kOp;
  OpId op = OpId::kAdd;
  std::vector<ExprId> operands;
  Access access;       // kLoad
  Scalar scalar;       // kConstant
  SymInt sym = 0;      // kSymbol
  int axis = -1;       // kAxis: the index along this axis, as int64; -1: an axis of extent 1, the index is 0
  int reduction = -1;  // kReduced: result of reduction i of the nest
  DType dtype = DType::kFloat64;
  bool checked = false;  // integer arithmetic of NumPy or Python scalars, or the conversion of one that is
                         // assigned: a result that does not fit sets a kernel status bit
  NodeId node = kNoNode;
  UserSpan where;
};

struct Reduction {
  OpId op = OpId::kSum;                 // kSum kProd kMax kMin kAny kAll kArgmax kArgmin
  std::vector<int> axes;                // reduced axes of the nest
  ExprId value = -1;                    // per element
  DType dtype = DType::kFloat64;        // accumulator
  DType value_dtype = DType::kFloat64;  // of `value`: equal to dtype except for kAny kAll kArgmax kArgmin
  bool ordered = false;                 // `order` must be kept: another one gives other bits
  ReduceOrder order;
  NodeId node = kNoNode;
};

struct Store {
  Access access;
  ExprId value = -1;
  bool after_reduction = false;  // stored once per kept index, may use kReduced
  NodeId node = kNoNode;
};

struct Nest {
  std::vector<SymInt> extents;
  std::vector<Expr> exprs;
  std::vector<Reduction> reductions;
  std::vector<Store> stores;
  std::vector<NodeId> nodes;  // graph nodes computed here, program order
};

struct NumpyCall {  // Extern ops
  OpId op = OpId::kMatmul;
  std::vector<BufferId> operands;
  BufferId result = -1;
  std::string why;  // reductions: why no kernel can do this one
  NodeId node = kNoNode;
};

struct LoopProgram {
  std::vector<Buffer> buffers;
  std::vector<std::variant<Nest, NumpyCall>> statements;
  std::vector<BufferId> outputs;  // per graph output
  ShapeEnv env;
};

struct LowerOptions {
  int numpy_minor = 3;  // NumPy 2.x whose order of summation is kept
};
// One nest per compute node; nothing fused yet.
Result<LoopProgram> lower(const Graph& lowered_graph, const LowerOptions& options = {});

// Buffer that owns the memory `buffer` lives in.
BufferId root_buffer(const std::vector<Buffer>& buffers, BufferId buffer);
// Axes of the nest that its reductions reduce (all reductions of a nest reduce the same axes).
std::vector<bool> reduced_axes(const Nest& nest);
// Expressions `root` depends on, itself included, operands first.
std::vector<ExprId> subexpressions(const Nest& nest, ExprId root);
std::string to_text(const LoopProgram& program);

}  // namespace suture
