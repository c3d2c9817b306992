// Inlining: a call of a Python function runs its bytecode over the argument values.
//
// A break inside stops the whole inlining: the call is then made by Python, and the reason names the callee
// (SB206) with the inner break as its cause.
#include <fmt/format.h>

#include <algorithm>

#include "capture/source_version.h"
#include "capture/symbolic_interpreter.h"
#include "cpython/objects.h"

namespace suture {
namespace {

Break type_error(CaptureState& state, const Function& function, const std::string& what) {
  return state.make_break(BreakReason::kWouldRaise, {fmt::format("{}() {}", function.code.name, what)});
}

// Python's argument binding into localsplus order.
class Binder {
 public:
  Binder(CaptureState& state, const FunctionValue& function, const Function& code, const CallArguments& args)
      : state_(state),
        function_(function),
        code_(code.code),
        decoded_(code),
        args_(args),
        locals_(code_.local_names.size()) {}

  Captured<std::vector<ValueRef>> bind() {
    SUTURE_CAPTURE_VOID(bind_positional());
    SUTURE_CAPTURE_VOID(bind_keywords());
    SUTURE_CAPTURE_VOID(fill_defaults());
    return std::move(locals_);
  }

 private:
  size_t named() const { return static_cast<size_t>(code_.arg_count + code_.kwonly_count); }

  Captured<Unit> bind_positional() {
    const size_t count = std::min(args_.positional.size(), static_cast<size_t>(code_.arg_count));
    std::copy_n(args_.positional.begin(), count, locals_.begin());
    if (code_.flags & kCodeVarArgs) {
      locals_[named()] = std::make_shared<SequenceValue>(
          ValueKind::kTuple,
          std::vector<ValueRef>(args_.positional.begin() + static_cast<long>(count), args_.positional.end()));
    } else if (args_.positional.size() > count) {
      return type_error(
          state_, decoded_,
          fmt::format("takes {} positional arguments but {} were given", count, args_.positional.size()));
    }
    return Unit{};
  }

  Captured<Unit> bind_keywords() {
    std::shared_ptr<DictValue> rest;
    if (code_.flags & kCodeVarKeywords) {
      rest = std::make_shared<DictValue>();
      locals_[named() + ((code_.flags & kCodeVarArgs) != 0)] = rest;
    }
    for (const auto& [name, value] : args_.keyword) {
      const auto first = code_.local_names.begin() + code_.posonly_count;
      const auto last = code_.local_names.begin() + static_cast<long>(named());
      const auto slot = std::find(first, last, name);
      if (slot != last) {
        ValueRef& local = locals_[static_cast<size_t>(slot - code_.local_names.begin())];
        if (local)
          return type_error(state_, decoded_, fmt::format("got multiple values for argument '{}'", name));
        local = value;
      } else if (rest) {
        rest->items.emplace_back(PyRef::steal(PyUnicode_InternFromString(name.c_str())), value);
      } else {
        return type_error(state_, decoded_, fmt::format("got an unexpected keyword argument '{}'", name));
      }
    }
    return Unit{};
  }

  Captured<Unit> fill_defaults() {
    const size_t positional = static_cast<size_t>(code_.arg_count);
    for (size_t i = 0; i < named(); ++i) {
      if (locals_[i]) continue;
      if (i < positional) {
        const size_t first = positional - std::min(positional, function_.defaults.size());
        if (i >= first) locals_[i] = function_.defaults[i - first];
      } else {
        for (const auto& [name, value] : function_.kwdefaults)
          if (name == code_.local_names[i]) locals_[i] = value;
      }
      if (!locals_[i])
        return type_error(state_, decoded_, fmt::format("missing argument '{}'", code_.local_names[i]));
    }
    return Unit{};
  }

  CaptureState& state_;
  const FunctionValue& function_;
  const CodeView& code_;
  const Function& decoded_;
  const CallArguments& args_;
  std::vector<ValueRef> locals_;
};

// What the caller's log shows for a break inside a callee. An unknown function is named itself: the wrapper
// says nothing new.
Break callee_break(CaptureState& state, const std::string& callee, Break inner) {
  if (inner.cause)
    return inner;  // wrapped already by a deeper call: keep one wrapper, the outermost call site
  auto cause = std::make_shared<Break>(inner);
  Break out = state.make_break(
      BreakReason::kCalleeBreaks,
      {callee, fmt::format("{} at {}", inner.title(), inner.where.place()), "called as it is"});
  out.cause = std::move(cause);
  return out;
}

bool is_active(const CaptureState& state, PyView code) {
  return std::any_of(state.active.begin(), state.active.end(),
                     [&](const ActiveCall& call) { return call.code == code; });
}

Outcome run_inlined(CaptureState& state, Activation& frame, const std::string& callee) {
  const UserSpan call_site = state.place();
  state.active.push_back({frame.decoded->code.get(), call_site});
  Flow flow = SymbolicInterpreter(state, frame).run();
  state.active.pop_back();
  state.set_place(call_site);
  if (flow.kind == Flow::Kind::kReturn) return std::move(flow.value);
  if (flow.kind != Flow::Kind::kFailed)
    return Error::internal("capture", "a function that is no generator yielded");
  if (auto* error = std::get_if<Error>(&flow.failure)) return std::move(*error);
  Break inner = std::get<Break>(std::move(flow.failure));
  if (state.inlining()) return inner;
  return callee_break(state, callee, std::move(inner));
}

}  // namespace

Outcome inline_call(CaptureState& state, FunctionValue& function, const CallArguments& args) {
  SUTURE_CAPTURE_VOID(state.resolve_function(function));
  SUTURE_CAPTURE(decoded, state.decode(function.code.get()));
  const CodeView& code = decoded->function.code;
  note_source(function.code.get(), code.filename, code.qualname);
  // A generator that is left before its end runs its `finally` and `except GeneratorExit` when it is closed, and
  // capture does not see that moment.
  const bool acts_when_closed = (code.flags & kCodeGenerator) && !decoded->function.exception_regions.empty();
  if ((code.flags & (kCodeCoroutine | kCodeAsyncGenerator)) || acts_when_closed)
    return state.make_break(BreakReason::kGenerator, {"`" + code.qualname + "`"});
  if (is_active(state, function.code.get()) || function.code.get() == function_code(state.input.function))
    return state.make_break(BreakReason::kRecursion, {"`" + code.qualname + "`"});
  const int limit = state.options.limits.max_inline_depth;
  if (static_cast<int>(state.active.size()) >= limit)
    return state.make_break(BreakReason::kInlineLimit, {"`" + code.qualname + "`", std::to_string(limit)});

  auto frame = std::make_shared<Activation>();
  SUTURE_CAPTURE(locals, Binder(state, function, decoded->function, args).bind());
  frame->decoded = decoded;
  frame->locals = std::move(locals);
  frame->globals = function.globals;
  frame->globals_source = function.globals_source;
  frame->closure = function.closure;
  if (code.flags & kCodeGenerator) {
    auto generator = std::make_shared<IteratorValue>();
    generator->of = IteratorValue::Of::kGenerator;
    generator->frame = std::move(frame);
    return ValueRef(std::move(generator));
  }
  return run_inlined(state, *frame, "`" + code.qualname + "`");
}

}  // namespace suture
