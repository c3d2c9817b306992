// Breaking anywhere: a frame is stopped before an instruction, its real state (locals and value stack)
// becomes the recipes of a capture, and the transformed function made from it must finish the call with the
// result the original has.
//
// The state is taken by a trace function that stops the frame for good, so nothing that the state refers to
// (iterators, open context managers) has moved on when the continuation runs.
#include <set>

#include "capture/output_ends.h"
#include "output_programs.h"
#include "output_support.h"

namespace suture::testing {
namespace {

// The head of CPython 3.11's frame, as much as is needed to read locals and stack.
struct InterpreterFrame {
  PyObject *function, *globals, *builtins, *locals, *code, *frame_object;
  InterpreterFrame* previous;
  void* previous_instruction;
  int stack_top;
  bool is_entry;
  char owner;
  PyObject* slots[1];
};
struct FrameObject {
  PyObject base;
  PyObject* back;
  InterpreterFrame* frame;
};

struct State {
  std::vector<PyRef> slots;  // locals, then stack; empty: NULL
};

// Stops the frame of `code` before the `nth` time it reaches `offset`.
struct Stopper {
  PyView code;
  int offset;
  int nth;
  std::optional<State> state;
};

int stop(PyObject* self, PyFrameObject* frame, int what, PyObject*) {
  auto* stopper = static_cast<Stopper*>(PyCapsule_GetPointer(self, nullptr));
  if (stopper->state) {  // the frame is being left: its handlers must not run
    if (what == PyTrace_OPCODE) PyErr_SetString(PyExc_SystemExit, "stopped");
    return what == PyTrace_OPCODE ? -1 : 0;
  }
  auto* object = reinterpret_cast<PyObject*>(frame);
  PyRef code = PyRef::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  if (code.get() != stopper->code) return 0;
  if (what == PyTrace_CALL) PyObject_SetAttrString(object, "f_trace_opcodes", Py_True);
  if (what != PyTrace_OPCODE || PyFrame_GetLasti(frame) != stopper->offset || stopper->nth-- > 0) return 0;
  const InterpreterFrame* inner = reinterpret_cast<FrameObject*>(frame)->frame;
  State state;
  for (int i = 0; i < inner->stack_top; ++i) state.slots.push_back(PyRef::borrow(inner->slots[i]));
  stopper->state = std::move(state);
  PyErr_SetString(PyExc_SystemExit, "stopped");
  return -1;
}

std::optional<State> state_before(PyView function, PyView arguments, int offset, int nth) {
  Stopper stopper{function_code(function), offset, nth, {}};
  PyRef capsule = PyRef::steal(PyCapsule_New(&stopper, nullptr, nullptr));
  PyEval_SetTrace(stop, capsule.get());
  PyRef result = PyRef::steal(PyObject_CallObject(function, arguments));
  PyEval_SetTrace(nullptr, nullptr);
  PyErr_Clear();
  return std::move(stopper.state);
}

CaptureBuilder captured(PyView function, int at, const State& state, FrameEnd::Kind kind) {
  CaptureBuilder b(PyRef::borrow(function));
  const CodeView& code = b.capture.function.code;
  const size_t locals = code.local_names.size();
  const std::vector<bool> live = live_locals_at(b.capture.function, at);
  std::map<int, RecipeId> values;
  for (size_t i = 0; i < locals; ++i) {
    if (!live[i]) continue;
    PyView value = state.slots[i].get();
    if (code.local_kinds[i] & kLocalCell && value != nullptr && PyCell_Check(value))
      value = PyCell_GET(value);
    values[static_cast<int>(i)] = value ? b.constant(PyRef::borrow(value)) : b.plain(Recipe::Kind::kUnbound);
  }
  std::vector<RecipeId> stack;
  for (size_t i = locals; i < state.slots.size(); ++i)
    stack.push_back(state.slots[i] ? b.constant(state.slots[i]) : b.plain(Recipe::Kind::kNull));
  b.end(kind, at, std::move(stack), std::move(values));
  return b;
}

std::string outcome(PyView callable, PyView arguments) {
  PyRef result = PyRef::steal(PyObject_CallObject(callable, arguments));
  return result ? repr(result.get()) : take_exception();
}

// The arguments as the transformed function takes them: bound, in the order of the locals.
PyRef bound_arguments(PyView function, PyView arguments) {
  static const PyRef space = run_python(R"(
import inspect
def bind(f, args):
    signature = inspect.signature(f)
    bound = signature.bind(*args)
    bound.apply_defaults()
    return tuple(bound.arguments[n] for n in f.__code__.co_varnames if n in bound.arguments)
)");
  return PyRef::steal(PyObject_CallFunctionObjArgs(item(space.get(), "bind"), function, arguments, nullptr));
}

// Every instruction of `f` of which the state is asked, in the first rounds it is reached.
constexpr int kRounds = 2;
struct Tally {
  int tried = 0;
  std::set<std::string> refused;
};

void try_point(PyView space, PyView function, int at, int nth, FrameEnd::Kind kind, Tally& tally) {
  const auto fresh = [&] { return evaluate_python("args()", space); };
  const int offset = CaptureBuilder(PyRef::borrow(function)).offset(at);
  PyRef arguments = fresh();
  auto state = state_before(function, arguments.get(), offset, nth);
  if (!state) return;
  CaptureBuilder b = captured(function, at, *state, kind);
  auto emitted = emit(b);
  if (!emitted.ok()) {
    ASSERT_EQ(emitted.error().kind, ErrorKind::kUnsupported) << emitted.error().message;
    tally.refused.insert(emitted.error().message);
    return;
  }
  ++tally.tried;
  const std::string expected = outcome(function, fresh().get());
  const std::string got =
      outcome(callable_of(*emitted).get(), bound_arguments(function, arguments.get()).get());
  ASSERT_EQ(got, expected) << "break at instruction " << at << " (round " << nth << ") of\n"
                           << to_text(b.capture.function) << "\n"
                           << emitted->code.listing_after;
}

Tally break_everywhere(const std::string& source) {
  Tally tally;
  PyRef space = run_python(source);
  PyView function = item(space.get(), "f");
  CaptureBuilder b(PyRef::borrow(function));
  const auto& instructions = b.capture.function.instructions;
  size_t start = 0;
  while (instructions[start].opcode != Opcode::RESUME) ++start;
  for (size_t i = start + 1; i < instructions.size(); ++i) {
    // The second half of a call group has no state of its own.
    if (instructions[i].opcode == Opcode::CALL) continue;
    for (int nth = 0; nth < kRounds && !::testing::Test::HasFatalFailure(); ++nth)
      try_point(space.get(), function, static_cast<int>(i), nth, FrameEnd::Kind::kBreak, tally);
  }
  return tally;
}

Tally keep_every_loop(const std::string& source) {
  Tally tally;
  PyRef space = run_python(source);
  PyView function = item(space.get(), "f");
  CaptureBuilder b(PyRef::borrow(function));
  for (const LoopRegion& loop : find_loops(b.capture.function)) {
    for (int nth = 0; nth < kRounds && !::testing::Test::HasFatalFailure(); ++nth)
      try_point(space.get(), function, loop.header, nth, FrameEnd::Kind::kLoop, tally);
  }
  return tally;
}

constexpr int kProgramCount = static_cast<int>(std::size(kPrograms));

class BreakAnywhere : public ::testing::TestWithParam<int> {};

TEST_P(BreakAnywhere, TheTransformedFunctionFinishesAsTheOriginal) {
  const Tally tally = break_everywhere(kPrograms[GetParam()]);
  EXPECT_GT(tally.tried, 2);
  for (const std::string& why : tally.refused)
    EXPECT_TRUE(why.find("exception handler") != std::string::npos) << why;
}

INSTANTIATE_TEST_SUITE_P(Programs, BreakAnywhere, ::testing::Range(0, kProgramCount));

class KeepAnyLoop : public ::testing::TestWithParam<int> {};

TEST_P(KeepAnyLoop, TheLoopInPythonEndsAsTheOriginal) {
  const Tally tally = keep_every_loop(kPrograms[GetParam()]);
  for (const std::string& why : tally.refused) EXPECT_EQ(why, "") << "program " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Programs, KeepAnyLoop, ::testing::Range(0, kProgramCount));

}  // namespace
}  // namespace suture::testing
