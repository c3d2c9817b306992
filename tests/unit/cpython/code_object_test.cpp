// Code objects through plain data and back, on everything the interpreter can offer: the whole standard
// library.
#include "cpython/code_object.h"

#include <gtest/gtest.h>

#include "bytecode/analysis.h"
#include "cpython/objects.h"
#include "support/embed.h"

namespace suture {
namespace {

using testing::evaluate_python;
using testing::item;
using testing::python_object;
using testing::repr;
using testing::run_python;

// Yields every code object of the standard library's top-level modules and of a few packages.
constexpr const char* kAllCode = R"(
import glob, os, sysconfig, types
def walk(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from walk(constant)
root = sysconfig.get_paths()['stdlib']
files = sorted(glob.glob(root + '/*.py'))
for package in ('asyncio', 'collections', 'concurrent/futures', 'email', 'encodings', 'importlib', 'json', 'unittest'):
    files += sorted(glob.glob(f'{root}/{package}/*.py'))
codes = []
for path in files:
    with open(path, encoding='utf-8', errors='replace') as f:
        codes.extend(walk(compile(f.read(), path, 'exec', dont_inherit=True)))
)";

Result<Function> decoded(PyView code) {
  SUTURE_TRY(view, code_view(code));
  return decode_function(view);
}

TEST(CodeObject, AssemblingWhatWasDecodedGivesTheSameBytesForTheStandardLibrary) {
  PyRef codes = python_object(kAllCode, "codes");
  ASSERT_TRUE(codes);
  const Py_ssize_t count = PyList_GET_SIZE(codes.get());
  ASSERT_GT(count, 5000);
  int shown = 0;
  for (Py_ssize_t i = 0; i < count && shown < 5; ++i) {
    PyView code = PyList_GET_ITEM(codes.get(), i);
    auto function = decoded(code);
    ASSERT_TRUE(function.ok()) << repr(code) << ": " << function.error().message;
    auto assembled = assemble(*function);
    ASSERT_TRUE(assembled.ok()) << repr(code) << ": " << assembled.error().message;
    const bool same = assembled->code == function->code.code &&
                      assembled->line_table == function->code.line_table &&
                      assembled->exception_table == function->code.exception_table;
    EXPECT_TRUE(same) << repr(code) << (assembled->code == function->code.code ? "" : " code")
                      << (assembled->line_table == function->code.line_table ? "" : " line table")
                      << (assembled->exception_table == function->code.exception_table ? ""
                                                                                       : " exception table");
    EXPECT_LE(assembled->stack_size, function->code.stack_size + 1) << repr(code);
    shown += !same;
  }
}

TEST(CodeObject, RebuiltCodeObjectsEqualTheOriginalsInEverythingPythonCanSee) {
  PyRef space = run_python(std::string(kAllCode) + R"(
def facts(c):
    return (c.co_code, list(c.co_positions()), c.co_exceptiontable, c.co_names, c.co_varnames, c.co_cellvars, c.co_freevars,
            c.co_consts, c.co_flags, c.co_argcount, c.co_posonlyargcount, c.co_kwonlyargcount, c.co_name, c.co_qualname,
            c.co_filename, c.co_firstlineno, c.co_nlocals)
sample = codes[::7]
)");
  ASSERT_TRUE(space);
  PyView sample = item(space.get(), "sample");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sample); ++i) {
    PyView code = PyList_GET_ITEM(sample, i);
    auto function = decoded(code);
    ASSERT_TRUE(function.ok());
    auto made = make_code_object(*function, code_constants(code).get());
    ASSERT_TRUE(made.ok()) << repr(code) << made.error().message;
    PyDict_SetItemString(space.get(), "a", code);
    PyDict_SetItemString(space.get(), "b", made->get());
    ASSERT_EQ(repr(evaluate_python("facts(a) == facts(b)", space.get()).get()), "True") << repr(code);
  }
}

TEST(CodeObject, ARebuiltFunctionKeepsDefaultsClosureAnnotationsAndModule) {
  PyRef space = run_python(R"(
def outer():
    k = 10
    def f(a: int, b=2, *args, c, d=4, **kw) -> int:
        return a, b, args, c, d, kw, k
    return f
f = outer()
)");
  PyView f = item(space.get(), "f");
  PyView code = function_code(f);
  auto function = decoded(code);
  ASSERT_TRUE(function.ok());
  auto new_code = make_code_object(*function, code_constants(code).get());
  ASSERT_TRUE(new_code.ok());
  auto g = make_function(new_code->get(), f, nullptr);
  ASSERT_TRUE(g.ok());
  PyDict_SetItemString(space.get(), "g", g->get());
  EXPECT_EQ(repr(evaluate_python("g(1, c=3)", space.get()).get()), "(1, 2, (), 3, 4, {}, 10)");
  EXPECT_EQ(repr(evaluate_python("g(1, 5, 6, c=3, d=7, e=8)", space.get()).get()),
            "(1, 5, (6,), 3, 7, {'e': 8}, 10)");
  EXPECT_EQ(repr(evaluate_python("g.__annotations__ == f.__annotations__ and g.__module__ == f.__module__",
                                 space.get())
                     .get()),
            "True");
}

TEST(CodeObject, LocalKindsTellArgumentsCellsAndFreeVariablesApart) {
  PyRef space = run_python(R"(
def outer():
    free = 1
    def f(arg, cell_arg):
        local = cell = free
        return lambda: (cell, cell_arg)
    return f
f = outer()
)");
  auto view = code_view(function_code(item(space.get(), "f")));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->local_names, (std::vector<std::string>{"arg", "cell_arg", "local", "cell", "free"}));
  EXPECT_EQ(view->local_kinds, (std::vector<uint8_t>{0x20, 0x60, 0x20, 0x40, 0x80}));
}

TEST(CodeObject, TheUnboundMarkerIsOneObjectThatUsersCannotMake) {
  EXPECT_NE(unbound_marker(), nullptr);
  EXPECT_EQ(unbound_marker(), unbound_marker());
  PyRef again = PyRef::steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(Py_TYPE(unbound_marker()))));
  EXPECT_FALSE(again);
  EXPECT_EQ(testing::take_exception().substr(0, 9), "TypeError");
}

}  // namespace
}  // namespace suture
