// emit_output_bytecode: prologue, graph call, side effects, then the end of the frame. See output_bytecode.h.
#include "capture/output_bytecode.h"

#include <fmt/format.h>

#include "bytecode/output_names.h"
#include "capture/output_continuation.h"
#include "capture/output_ends.h"
#include "capture/output_writer.h"
#include "cpython/objects.h"

namespace suture {
namespace {

void count_uses(OutputWriter& writer) {
  const Capture& capture = writer.capture();
  for (RecipeId id : capture.input_recipes) writer.count_use(id);
  for (const SideEffect& effect : capture.side_effects) {
    writer.count_use(effect.target);
    writer.count_use(effect.key);
    writer.count_use(effect.value);
  }
  writer.count_use(capture.end.value);
  for (RecipeId id : capture.end.stack) writer.count_use(id);
  for (const auto& [local, id] : capture.end.locals) writer.count_use(id);
}

void emit_prologue(OutputWriter& writer) {
  Instruction place;
  place.line = place.end_line = writer.original().code.first_line;
  writer.code().set_position(place);
  writer.code().emit(Opcode::COPY_FREE_VARS, 0);  // the count is filled in by finish()
  writer.code().emit(Opcode::RESUME, 0);
}

// Calls the graph and keeps the outputs that are used.
Status emit_graph_call(OutputWriter& writer, PyView compiled_graph) {
  const Capture& capture = writer.capture();
  if (compiled_graph == nullptr) return ok_status();
  CodeBuilder& code = writer.code();
  code.push_null();
  writer.push_object(PyRef::borrow(compiled_graph), std::string(kGraphName));
  for (RecipeId input : capture.input_recipes) SUTURE_TRY_VOID(writer.push(input));
  code.call(static_cast<int>(capture.input_recipes.size()));
  const int count = static_cast<int>(capture.graph.outputs.size());
  bool any = false;
  for (int i = 0; i < count; ++i) any = any || writer.graph_output_used(i);
  if (!any) {
    code.emit(Opcode::POP_TOP);
    return ok_status();
  }
  code.emit(Opcode::UNPACK_SEQUENCE, count);
  for (int i = 0; i < count; ++i) {
    if (!writer.graph_output_used(i)) {
      code.emit(Opcode::POP_TOP);
      continue;
    }
    const int slot = writer.new_temporary(fmt::format("graph_out_{}", i));
    writer.store(slot);
    writer.set_graph_output(i, slot);
  }
  return ok_status();
}

Status emit_return(OutputWriter& writer) {
  SUTURE_TRY_VOID(writer.push(writer.capture().end.value));
  writer.code().emit(Opcode::RETURN_VALUE);
  return ok_status();
}

Status emit_end(OutputWriter& writer, Continuations& continuations) {
  const FrameEnd& end = writer.capture().end;
  if (end.kind == FrameEnd::Kind::kReturn) return emit_return(writer);
  if (end.kind == FrameEnd::Kind::kSkip)
    return Error::internal("output", "a skipped frame has no output bytecode");
  // A graph call that fails shows the line of the function; what restores the state belongs to the break.
  writer.code().set_position(writer.original().instructions[static_cast<size_t>(end.at)]);
  return end.kind == FrameEnd::Kind::kBreak ? emit_break(writer, continuations)
                                            : emit_loop(writer, continuations);
}

}  // namespace

Result<OutputCode> emit_output_bytecode(const Capture& capture, PyView original_function,
                                        PyView compiled_graph, int entry, const MakeCallable& make_callable) {
  const std::string why = needs_own_frame(capture.function);
  if (!why.empty() && capture.end.kind != FrameEnd::Kind::kReturn)
    return Error::unsupported("output", capture.function.code.qualname + " " + why);
  OutputWriter writer(capture, original_function,
                      fmt::format("__transformed_code_{}_for_{}", entry, function_name(original_function)));
  Continuations continuations(writer, make_callable);
  count_uses(writer);
  emit_prologue(writer);
  SUTURE_TRY_VOID(emit_graph_call(writer, compiled_graph));
  SUTURE_TRY_VOID(emit_side_effects(writer));
  SUTURE_TRY_VOID(emit_end(writer, continuations));
  SUTURE_TRY(made, writer.finish());
  return OutputCode{std::move(made.function),  std::move(made.entry_values), continuations.names(),
                    to_text(capture.function), to_text(made.code),           made.code.instructions.size()};
}

}  // namespace suture
