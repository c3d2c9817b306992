// PyRef owns exactly one reference; PyView owns none.
#include "cpython/py_ref.h"

#include <gtest/gtest.h>

#include "support/embed.h"

namespace suture {
namespace {

using testing::evaluate_python;

TEST(PyRef, borrow_adds_one_reference_and_the_destructor_gives_it_back) {
  PyRef list = evaluate_python("[1, 2]");
  const Py_ssize_t before = Py_REFCNT(list.get());
  {
    PyRef second = PyRef::borrow(list.get());
    EXPECT_EQ(Py_REFCNT(list.get()), before + 1);
  }
  EXPECT_EQ(Py_REFCNT(list.get()), before);
}

TEST(PyRef, copy_assignment_moves_and_self_assignment_keep_the_count) {
  PyRef list = evaluate_python("[1, 2]");
  PyRef copy = list;
  EXPECT_EQ(Py_REFCNT(list.get()), 2);
  copy = list;
  EXPECT_EQ(Py_REFCNT(list.get()), 2);
  PyRef moved = std::move(copy);
  EXPECT_EQ(Py_REFCNT(list.get()), 2);
  EXPECT_FALSE(copy);
  const PyRef& alias = moved;
  moved = alias;
  EXPECT_EQ(Py_REFCNT(list.get()), 2);
}

TEST(PyRef, release_hands_the_reference_to_the_caller) {
  PyRef list = evaluate_python("[1, 2]");
  PyObject* raw = list.release();
  EXPECT_FALSE(list);
  EXPECT_EQ(Py_REFCNT(raw), 1);
  Py_DECREF(raw);
}

TEST(Embed, the_interpreter_is_the_configured_one_and_finds_its_numpy) {
  PyRef version = evaluate_python("int(np.__version__.split('.')[0]) >= 2");
  EXPECT_EQ(version.get(), Py_True);
}

}  // namespace
}  // namespace suture
