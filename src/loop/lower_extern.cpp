// Operations that NumPy itself executes between kernels: contractions (BLAS), and reductions whose order of
// summation is not known for this layout. Operands must exist as arrays.
#include "loop/lowering.h"

namespace suture {

Status Lowering::lower_extern(const Node& node, std::string why) {
  NumpyCall call;
  call.op = node.op;
  call.node = node.id;
  call.why = std::move(why);
  for (NodeId operand : node.operands) {
    SUTURE_TRY(buffer, materialize(operand));
    call.operands.push_back(buffer);
  }
  call.result = result_buffer(node);
  program_.statements.emplace_back(std::move(call));
  return ok_status();
}

}  // namespace suture
