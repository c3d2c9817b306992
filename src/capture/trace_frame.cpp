// trace_frame: attempts of one capture, each with a plan that knows more.
//
//   attempt 1   run until something cannot be captured at instruction i
//     i in a loop  -> plan: keep the outermost loop around i in Python
//     otherwise    -> plan: break at i (at the start of its call group)
//   attempt 2   run again; stop BEFORE the planned instruction, with state that nothing half-done touched
//
// The run is deterministic, so every attempt reaches the instructions the plan names in the same state.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/analysis.h"
#include "bytecode/continuation.h"
#include "capture/capture_observer.h"
#include "capture/frame_readers.h"
#include "capture/side_effects.h"
#include "capture/symbolic_interpreter.h"
#include "cpython/code_object.h"
#include "cpython/objects.h"

namespace suture {
namespace {

constexpr int kGeneratorFlags = kCodeGenerator | kCodeCoroutine | kCodeAsyncGenerator;

bool has_operations(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& n) { return info(n.op).kind != OpKind::Input; });
}

// A break at CALL is a break at its group: the names and PRECALL come with it.
int group_start(const Function& function, int index) {
  const auto opcode = [&](int i) { return function.instructions[static_cast<size_t>(i)].opcode; };
  if (opcode(index) == Opcode::CALL && index > 0 && opcode(index - 1) == Opcode::PRECALL) --index;
  if (opcode(index) == Opcode::PRECALL && index > 0 && opcode(index - 1) == Opcode::KW_NAMES) --index;
  return index;
}

Break with_cause(BreakReason reason, std::vector<std::string> args, const Break& inner) {
  Break out = inner;
  out.reason = reason;
  out.args = std::move(args);
  out.cause = std::make_shared<Break>(inner);
  return out;
}

// What the user is told first: the cause at the bottom, as a clause.
std::string root_clause(const Break& reason) {
  const Break* root = &reason;
  while (root->cause) root = root->cause.get();
  std::string clause = root->explanation();
  if (clause.ends_with('.')) clause.pop_back();
  return clause;
}

struct Restart {
  CapturePlan plan;
};
using Attempt = std::variant<Capture, Restart, Error>;

class FrameTracer {
 public:
  FrameTracer(const FrameInput& input, const CaptureOptions& options, const CapturePlan& plan)
      : state_(input, options), plan_(plan) {}

  Attempt run() {
    auto decoded = state_.decode(function_code(state_.input.function));
    if (!is_value(decoded)) return undecodable(std::move(decoded));
    prepare(std::get<const DecodedCode*>(decoded));
    if (const CodeView& code = function().code; code.flags & kGeneratorFlags) {
      // No instruction is looked at: the place is that of the definition.
      state_.set_place({code.filename, code.qualname, code.first_line, code.first_line});
      return skip(state_.make_break(BreakReason::kGenerator, {"`" + code.qualname + "`"}));
    }
    SymbolicInterpreter interpreter(state_, frame_);
    while (true) {
      if (plan_.break_at.contains(frame_.ip)) return finish(FrameEnd::Kind::kBreak, nullptr);
      if (plan_.keep_loop.contains(frame_.ip)) return finish(FrameEnd::Kind::kLoop, nullptr);
      const int at = frame_.ip;
      Flow flow = interpreter.step();
      if (flow.kind == Flow::Kind::kReturn) return finish(FrameEnd::Kind::kReturn, flow.value);
      if (flow.kind != Flow::Kind::kFailed) continue;
      if (auto* error = std::get_if<Error>(&flow.failure)) return std::move(*error);
      return amend(at, std::get<Break>(std::move(flow.failure)));
    }
  }

 private:
  const Function& function() const { return frame_.function(); }

  static Attempt undecodable(Captured<const DecodedCode*> failed) {
    if (auto* error = std::get_if<Error>(&failed)) return std::move(*error);
    return Error::internal("capture", "the decoder gave a break");
  }

  void prepare(const DecodedCode* decoded) {
    const CodeView& code = decoded->function.code;
    frame_.decoded = decoded;
    frame_.top = true;
    frame_.globals = PyRef::borrow(function_globals(state_.input.function));
    frame_.locals.resize(code.local_names.size());
    for (int i = 0; i < code.parameter_count(); ++i) {
      const auto at = static_cast<size_t>(i);
      const SourceId source = state_.source(SourceKind::kLocal, kNoSource, i, code.local_names[at]);
      frame_.locals[at] = std::make_shared<PendingValue>(state_.input.arguments[at], source);
    }
    state_.graph.name = function_name(state_.input.function);
  }

  // --- restarting ------------------------------------------------------------------------------------------
  bool starts_handler(int at) const {
    return function().instructions[static_cast<size_t>(at)].opcode == Opcode::PUSH_EXC_INFO;
  }
  bool in_handler(int at) const {
    return starts_handler(at) || handler_depths(function())[static_cast<size_t>(at)] > 0;
  }
  // CPython gives the start of a handler no position.
  UserSpan first_place_from(int at) const {
    const int count = static_cast<int>(function().instructions.size());
    while (at + 1 < count && !function().span_at(at).known()) ++at;
    return function().span_at(at);
  }
  std::string handled_text(int at, const Break& reason) const {
    return starts_handler(at) ? "The place where this part goes on" : "`" + reason.title() + "`";
  }

  Attempt amend(int index, Break reason) {
    const int at = group_start(function(), index);
    const auto loop = outermost_loop(function(), at);
    if (in_handler(loop ? loop->header : at)) {
      Break handled = with_cause(BreakReason::kBreakInTry, {handled_text(at, reason)}, reason);
      if (starts_handler(at)) handled.where = first_place_from(at);
      return skip(std::move(handled));
    }
    const BreakReason root = reason.cause ? reason.cause->reason : reason.reason;
    if (root == BreakReason::kReadsFrame || (loop && root == BreakReason::kReadsStack)) return skip(reason);
    Restart next{plan_};
    if (loop) {
      const bool own = index == loop->header || reason.reason == BreakReason::kLoopTooLong;
      next.plan.keep_loop.insert(loop->header);
      next.plan.reasons[loop->header] =
          own ? reason : with_cause(BreakReason::kBreakInLoop, {reason.title()}, reason);
    } else {
      next.plan.break_at.insert(at);
      next.plan.reasons[at] = reason;
    }
    const bool known = next.plan.break_at == plan_.break_at && next.plan.keep_loop == plan_.keep_loop;
    if (known)
      return skip(with_cause(BreakReason::kCannotResume, {root_clause(reason), "the place is reached again"},
                             reason));
    return next;
  }

  // --- ending ----------------------------------------------------------------------------------------------
  Capture new_capture() {
    Capture capture;
    capture.function = function();
    return capture;
  }

  // The guards say for which inputs nothing was found; other inputs may be worth another attempt.
  Attempt skip(Break reason) {
    Capture capture = new_capture();
    guard_shapes();
    capture.graph.env = std::move(state_.graph.env);
    capture.guards = std::move(state_.guards);
    capture.end.kind = FrameEnd::Kind::kSkip;
    capture.end.reason = std::move(reason);
    return capture;
  }

  Attempt cannot_resume(const std::string& why) {
    const std::string what = reason_here() ? root_clause(*reason_here()) : "The result is built here";
    Break reason = state_.make_break(BreakReason::kCannotResume, {what, why});
    return skip(reason_here() ? with_cause(BreakReason::kCannotResume, {what, why}, *reason_here()) : reason);
  }

  const Break* reason_here() const {
    auto reason = plan_.reasons.find(frame_.ip);
    return reason == plan_.reasons.end() ? nullptr : &reason->second;
  }

  Attempt finish(FrameEnd::Kind kind, const ValueRef& value) {
    const bool operates = has_operations(state_.graph);
    if (kind == FrameEnd::Kind::kReturn && !operates)
      return skip(state_.make_break(BreakReason::kNoArrays, {"`" + function().code.qualname + "`"}));
    if (kind == FrameEnd::Kind::kBreak && !operates && gains_nothing(*reason_here()))
      return skip(*reason_here());

    Capture capture = new_capture();
    RecipeWriter writer(state_, capture);
    capture.end.kind = kind;
    if (kind == FrameEnd::Kind::kReturn) {
      auto id = writer.write(value);
      if (!id) return cannot_resume(writer.failure());
      capture.end.value = *id;
    } else {
      if (const std::string why = needs_own_frame(function()); !why.empty())
        return cannot_resume("the function " + why);
      if (const std::string reader = named_frame_reader(state_.input.function); !reader.empty())
        return skip(state_.make_break(BreakReason::kReadsFrame, {"`" + reader + "`"}));
      capture.end.at = frame_.ip;
      capture.end.reason = *reason_here();
      if (!write_frame(writer, capture.end)) return cannot_resume(writer.failure());
    }
    if (!write_side_effects(state_, writer, capture)) return cannot_resume(writer.failure());
    if (!guard_side_effects(state_))
      return skip(state_.make_break(BreakReason::kUnsupportedMutation,
                                    {"An input is written that shares memory with another input"}));
    for (NodeId placeholder : state_.graph.placeholders)
      capture.input_recipes.push_back(writer.source(placeholder_source(placeholder)));
    guard_shapes();
    capture.call_sites = state_.call_sites();
    capture.needs_rerun = needs_rerun(capture);
    capture.owns_arguments = state_.options.owns_arguments;
    capture.graph = std::move(state_.graph);
    capture.guards = std::move(state_.guards);
    return capture;
  }

  // Values of which nothing is known, met before anything was captured: nothing is gained by splitting the
  // frame.
  static bool gains_nothing(const Break& reason) {
    return reason.reason == BreakReason::kUnsupportedDtype || reason.reason == BreakReason::kArraySubclass;
  }

  // A replay of the graph alone would miss handlers, run before effects that Python runs first, and blame one
  // file for all.
  bool needs_rerun(const Capture& capture) const {
    const std::string& file = function().code.filename;
    return state_.has_protected_operations || !capture.side_effects.empty() ||
           std::any_of(state_.graph.nodes.begin(), state_.graph.nodes.end(),
                       [&](const Node& n) { return n.where.known() && n.where.file != file; });
  }

  bool write_frame(RecipeWriter& writer, FrameEnd& end) {
    for (const ValueRef& value : frame_.stack) {
      auto id = writer.write(value);
      if (!id) return false;
      end.stack.push_back(*id);
    }
    const std::vector<bool> live = live_locals_at(function(), frame_.ip);
    for (size_t i = 0; i < live.size(); ++i) {
      if (!live[i] || (function().code.local_kinds[i] & kLocalFree)) continue;
      auto id =
          writer.write(frame_.locals[i]);  // of a cell variable: the cell, which inner functions may share
      if (!id) return false;
      end.locals[static_cast<int>(i)] = *id;
    }
    keep_bound_objects(writer, end, live);
    return true;
  }

  // A variable that nothing reads any more still keeps its object alive, with what happens when the object dies.
  void keep_bound_objects(RecipeWriter& writer, FrameEnd& end, const std::vector<bool>& live) {
    for (size_t i = 0; i < live.size(); ++i) {
      if (live[i] || function().code.local_kinds[i] != kLocalPlain || !is_kept(frame_.locals[i])) continue;
      end.locals[static_cast<int>(i)] = *writer.write(frame_.locals[i]);
      end.kept.insert(static_cast<int>(i));
    }
  }

  // Arguments that only this frame holds, and results that leave the graph anyway. Everything else is held by
  // what it was read from, or was never an object.
  bool is_kept(const ValueRef& value) const {
    if (!value) return false;
    if (value->source != kNoSource) {
      const Source& source = state_.guards.sources[value->source];
      return state_.options.owns_arguments && source.kind == SourceKind::kLocal &&
             dies_visibly(state_.input.arguments[static_cast<size_t>(source.index)]);
    }
    const auto& outputs = state_.graph.outputs;
    return as_array(value) &&
           std::find(outputs.begin(), outputs.end(), as_array(value)->node) != outputs.end();
  }

  SourceId placeholder_source(NodeId node) const { return state_.placeholder_sources.at(node); }

  void guard_shapes() {
    const auto& facts = state_.graph.env.facts();
    for (size_t i = 0; i < facts.size(); ++i) {
      state_.set_place(facts[i].where);
      Guard g;
      g.kind = GuardKind::kShape;
      g.fact = static_cast<int>(i);
      state_.guard(std::move(g));
    }
  }

  CaptureState state_;
  const CapturePlan& plan_;
  Activation frame_;
};

Capture skipped(const FrameInput& input, const std::string& why, Capture capture) {
  Break reason;
  reason.reason = BreakReason::kCannotResume;
  reason.args = {fmt::format("Capture of {} was restarted again and again", short_repr(input.function)), why};
  capture.end.kind = FrameEnd::Kind::kSkip;
  capture.end.reason = std::move(reason);
  return capture;
}

}  // namespace

Result<Capture> trace_frame(const FrameInput& input, const CaptureOptions& options) {
  CapturePlan plan;
  for (int attempt = 1; attempt <= options.limits.max_attempts; ++attempt) {
    if (options.observer) options.observer->attempt(attempt - 1);
    Attempt result = FrameTracer(input, options, plan).run();
    if (auto* error = std::get_if<Error>(&result)) return std::move(*error);
    if (auto* capture = std::get_if<Capture>(&result)) {
      capture->attempts = attempt;
      return std::move(*capture);
    }
    plan = std::move(std::get<Restart>(result).plan);
  }
  return skipped(input, fmt::format("capture did not settle in {} attempts", options.limits.max_attempts),
                 Capture());
}

}  // namespace suture
