// A defect of ours: the function still gives its result, what is known is saved and told once; strict mode raises it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cpython/jit_callable.h"
#include "cpython/numpy_api.h"
#include "driver/compiler.h"
#include "support/embed.h"

namespace suture {
namespace {

namespace fs = std::filesystem;

class InternalError : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(import_numpy().ok());
    names = testing::run_python(
        "import numpy as np\nclass Defect(RuntimeError): pass\ndef f(x): return x * 2 + 1");
    directory = fs::path(::testing::TempDir()) / "suture_internal_error_test";
    fs::remove_all(directory);
    ASSERT_TRUE(compiler.set_option("cache_dir", directory.string()).ok());
    compiler.hooks.internal_error_type = PyRef::borrow(testing::item(names.get(), "Defect"));
    compiler.hooks.make_graph_object = [](const Graph&, PyRef, BindingHooks::InputBindings) -> Result<PyRef> {
      return Error::internal("graph", "a law was broken");
    };
  }
  void TearDown() override { fs::remove_all(directory); }

  // f through a backend, which asks for a graph object and so meets the defect.
  PyRef compiled(bool strict) {
    FrameOptions options;
    options.backend = "some_backend";
    options.backend_callable = testing::evaluate_python("lambda graph, inputs: None");
    if (strict) options.overrides = {{"strict", "True"}};
    auto callable = compiler.compile(testing::item(names.get(), "f"), std::move(options));
    EXPECT_TRUE(callable.ok());
    return std::move(*callable);
  }
  PyRef call(const PyRef& callable) {
    PyRef argument = testing::evaluate_python("np.arange(3)", names.get());
    return PyRef::steal(PyObject_CallOneArg(callable.get(), argument.get()));
  }
  std::vector<fs::path> saved() const {
    std::vector<fs::path> files;
    if (fs::exists(directory))
      for (const auto& entry : fs::directory_iterator(directory))
        if (entry.is_regular_file())
          files.push_back(entry.path());  // records of the process have a directory
    return files;
  }

  Compiler compiler;
  PyRef names;
  fs::path directory;
};

TEST_F(InternalError, the_function_runs_in_the_interpreter_and_one_file_tells_what_happened) {
  std::vector<Event> told;
  compiler.trace.subscribe(uint64_t{1} << static_cast<int>(EventId::kInternalError),
                           [&](const Event& event) { told.push_back(event); });
  PyRef first = compiled(false), second = compiled(false);
  for (const PyRef* callable : {&first, &first, &second})
    EXPECT_EQ(testing::repr(call(*callable).get()), "array([1, 3, 5])");

  ASSERT_EQ(told.size(), 2u) << "once per function";
  const auto files = saved();
  ASSERT_EQ(files.size(), 1u) << "one file per defect";
  EXPECT_TRUE(files[0].filename().string().starts_with(Compiler::kInternalErrorPrefix));
  EXPECT_EQ(std::get<std::string>(*told[0].find("artifact")), files[0].string());
  std::ifstream in(files[0]);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(text.starts_with("step: graph\nmessage: a law was broken\n")) << text;
  EXPECT_NE(text.find("\"event\":\"frame_start\""), std::string::npos) << "what led to it";
}

TEST_F(InternalError, is_saved_when_nobody_listens) {
  for (int token = 1; token < 10; ++token) compiler.trace.unsubscribe(token);
  ASSERT_FALSE(compiler.trace.wants(EventId::kInternalError));
  EXPECT_TRUE(call(compiled(false)));
  EXPECT_EQ(saved().size(), 1u);
}

TEST_F(InternalError, leaves_no_file_when_the_cache_is_off) {
  ASSERT_TRUE(compiler.set_option("cache_dir", "off").ok());
  EXPECT_TRUE(call(compiled(false)));
  EXPECT_TRUE(saved().empty());
}

TEST_F(InternalError, strict_mode_raises_it_with_its_record_and_saves_it_too) {
  PyRef callable = compiled(true);
  EXPECT_FALSE(call(callable));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyDict_SetItemString(names.get(), "error", value);
  EXPECT_EQ(type, testing::item(names.get(), "Defect"));
  EXPECT_EQ(testing::repr(testing::evaluate_python("error.args[0]", names.get()).get()),
            "'Suture failed in graph: a law was broken'");
  const std::string record = testing::repr(testing::evaluate_python("error.args[1]", names.get()).get());
  EXPECT_NE(record.find("\"event\":\"internal_error\""), std::string::npos) << record;
  EXPECT_NE(record.find(saved().at(0).string()), std::string::npos) << record;
  for (PyObject* each : {type, value, traceback}) Py_XDECREF(each);
}

}  // namespace
}  // namespace suture
