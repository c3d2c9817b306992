// Breaking anywhere: a frame is stopped before an instruction, its real state (locals and value stack)
// becomes the recipes of a capture, and the transformed function made from it must finish the call with the
// result the original has.
//
// The state is taken by a trace function that stops the frame for good, so nothing that the state refers to
// (iterators, open context managers) has moved on when the continuation runs.
#include <set>

#include "capture/output_ends.h"
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
  PyRef space = run_python(R"(
import inspect
def bind(f, args):
    signature = inspect.signature(f)
    bound = signature.bind(*args)
    bound.apply_defaults()
    return tuple(bound.arguments[n] for n in f.__code__.co_varnames if n in bound.arguments)
)");
  return PyRef::steal(PyObject_CallFunctionObjArgs(item(space.get(), "bind"), function, arguments, nullptr));
}

// Every instruction of `f` of which the state is asked, in the first three rounds it is reached.
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
      outcome(emitted->code.function.get(), bound_arguments(function, arguments.get()).get());
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
    for (int nth = 0; nth < 3 && !::testing::Test::HasFatalFailure(); ++nth)
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
    for (int nth = 0; nth < 3 && !::testing::Test::HasFatalFailure(); ++nth)
      try_point(space.get(), function, loop.header, nth, FrameEnd::Kind::kLoop, tally);
  }
  return tally;
}

const std::vector<std::string>& programs() {
  static const std::vector<std::string> all = {
      // straight line, nested calls, keywords, methods, slices, f-strings
      R"(
def g(*a, **k): return sum(a) + sum(k.values())
def f(a, b, *rest, c=3, **kw):
    x = g(1, g(a, b), g(b, k=c, j=4))
    y = [x, a][-1:] + list(rest) + sorted(kw)
    s = f'{x!r:>4}-{y}'.upper().replace('-', '+')
    x, y = y, x
    d = {'a': x, **kw}
    d['z'] = g(*[1, 2], **{'q': 3})
    return s, x, y, d, a if b else c
def args(): return (1, 2, 5, 6)
)",
      // branches, boolean operators, comparison chains
      R"(
def f(a, b):
    if a < b < 10 and not (a == 3 or b == 4):
        r = 'x' if a else 'y'
    elif a:
        r = a or b
    else:
        r = None
    if r is None: r = 5
    return r, (a and b), (a or b), a if r is not None else b
def args(): return (0, 7)
)",
      // for with break, continue, else, nested loops, a local that is bound in the loop only
      R"(
def f(n):
    total = 0
    out = []
    for i in range(n):
        if i == 2: continue
        for j in range(i):
            total += i * j
            if total > 40: break
        else:
            out.append(('else', i))
        last = (i, total)
        if i == 9: break
    else:
        out.append('done')
    return total, out, last
def args(): return (8,)
)",
      R"(
def f(n):
    for i in range(n):
        if i > 100: last = i
        if i == n - 1: break
    return last
def args(): return (4,)
)",
      // a return with a value inside nested loops
      R"(
def f(rows):
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            if value < 0:
                return r, c, [value] * 2
    return None
def args(): return ([[1, 2], [3, -4, 5]],)
)",
      // while, while True, while with continue and else
      R"(
def f(n):
    steps = []
    while n > 1:
        if n == 16:
            n = 8
            continue
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps.append(n)
    else:
        steps.append('end')
    while True:
        n += 1
        if n > 5: break
    return n, steps
def args(): return (12,)
)",
      // try, except, finally, with, raise
      R"(
class Log:
    def __init__(self): self.seen = []
    def __enter__(self): self.seen.append('in'); return self
    def __exit__(self, t, v, tb): self.seen.append(t.__name__ if t else 'out'); return t is KeyError
def f(d, log):
    r = []
    try:
        r.append(d['a'])
        r.append(d['b'])
    except KeyError as e:
        r.append(str(e))
    finally:
        r.append('finally')
    with log as l:
        r.append(len(l.seen))
        d['missing']
    try:
        with log:
            r.append(1 // d['zero'])
    except ZeroDivisionError:
        r.append('zero')
    else:
        r.append('no')
    return r, log.seen
def args(): return ({'a': 1, 'zero': 0}, Log())
)",
      R"(
def f(items):
    good = bad = 0
    for x in items:
        try:
            good += int(x)
        except ValueError:
            bad += 1
            if bad > 1: break
        finally:
            good += 100
    try:
        for x in items:
            int(x)
    except ValueError:
        return 'stopped', good, bad
    return good, bad
def args(): return (['1', '2', 'x', '3', 'y', '4'],)
)",
      // closures: cells read and written, functions made in the loop, free variables
      R"(
def outer():
    free = [10]
    count = 0
    def f(a, n):
        nonlocal count
        count = a
        b = a * 2
        def h(x): return x + a + b + free[0]
        fs = []
        for i in range(n):
            fs.append(h(i) + count)
        return fs, h(1)
    return f
f = outer()
def args(): return (3, 4)
)",
      // exceptions that leave: unbound locals, errors in the middle
      R"(
def f(flag):
    if flag: value = 1
    return value
def args(): return (False,)
)",
      R"(
def f(x):
    y = 0
    for i in x:
        y += 1 // i
    return y
def args(): return ([1, 1, 0],)
)",
      // del, global, import, unpacking, star, chained assignment, lambda defaults
      R"(
COUNT = 0
def f(t):
    global COUNT
    import math as m
    from os import path
    COUNT = len(t)
    a, (b, *c), d = t
    e = g = a + d
    del d
    h = lambda x, y=e: x * y
    c.append(h(3))
    return a, b, c, e, g, m.floor(2.5), path.join('a', 'b'), COUNT
def args(): return ((1, [2, 3, 4], 5),)
)",
      // match, walrus, set and dict displays, assert, comprehension calls
      R"(
def f(p):
    match p:
        case {'kind': 'a', 'n': n} if n > 3: r = n
        case [x, y]: r = x + y
        case _: r = 'other'
    if (k := len(p)) > 1: r = (r, k)
    assert r, 'empty'
    return r, {1, k}, [q * 2 for q in range(k)], {q: k for q in range(2)}
def args(): return ({'kind': 'a', 'n': 5},)
)",
      // code that nobody wrote for this test
      "from posixpath import normpath as f\ndef args(): return ('/a/./b/../c//d/../../e',)\n",
      "from shlex import split as f\ndef args(): return ('a \"b c\" d\\\\ e',)\n",
      "from statistics import quantiles as f\ndef args(): return ([4.0, 1.0, 3.0, 9.0, 2.0],)\n",
      "from textwrap import dedent as f\ndef args(): return ('    a\\n      b\\n\\n    c\\n',)\n",
      "from json.decoder import py_scanstring as f\ndef args(): return ('ab\\\\n\\\\u00e9c\" rest', 0)\n",
      "from difflib import get_close_matches as f\ndef args(): return ('appel', ['ape', 'apple', 'peach'])\n",
      "from calendar import TextCalendar\nf = TextCalendar.formatmonth\ndef args(): return (TextCalendar(), "
      "2024, 2)\n",
      "from ipaddress import summarize_address_range, ip_address\nf = lambda a, b: [str(n) for n in "
      "summarize_address_range(ip_address(a), ip_address(b))]\ndef args(): return ('10.0.0.1', '10.0.0.9')\n",
      "from fractions import Fraction\nf = Fraction.limit_denominator\ndef args(): return "
      "(Fraction(31415926, 10000000), 1000)\n",
      "from configparser import RawConfigParser\nf = RawConfigParser.read_dict\ndef args(): return "
      "(RawConfigParser(), {'s': {'a': 1, 'b': 2}, 't': {}})\n",
      "import random\nf = random.Random.sample\ndef args(): return (random.Random(3), range(30), 5)\n",
      "import pprint\nf = pprint.PrettyPrinter.pformat\ndef args(): return (pprint.PrettyPrinter(width=20), "
      "{'a': list(range(9)), 'b': 'x'})\n",
  };
  return all;
}

class BreakAnywhere : public ::testing::TestWithParam<int> {};

TEST_P(BreakAnywhere, TheTransformedFunctionFinishesAsTheOriginal) {
  const Tally tally = break_everywhere(programs()[static_cast<size_t>(GetParam())]);
  EXPECT_GT(tally.tried, 2);
  for (const std::string& why : tally.refused)
    EXPECT_TRUE(why.find("exception handler") != std::string::npos) << why;
}

INSTANTIATE_TEST_SUITE_P(Programs, BreakAnywhere, ::testing::Range(0, static_cast<int>(programs().size())));

class KeepAnyLoop : public ::testing::TestWithParam<int> {};

TEST_P(KeepAnyLoop, TheLoopInPythonEndsAsTheOriginal) {
  const Tally tally = keep_every_loop(programs()[static_cast<size_t>(GetParam())]);
  for (const std::string& why : tally.refused) EXPECT_EQ(why, "") << "program " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Programs, KeepAnyLoop, ::testing::Range(0, static_cast<int>(programs().size())));

}  // namespace
}  // namespace suture::testing
