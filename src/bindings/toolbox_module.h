// What the files of module suture._toolbox share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "toolbox/decompile/decompile.h"

namespace nb = nanobind;

namespace suture::toolbox {

// ValueError with the error's message.
template <class T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) throw nb::value_error(result.error().message.c_str());
  return std::move(result).value();
}

// Programs may hold any bytes; text for Python must not fail on them.
inline nb::str text(std::string_view s) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace"));
}

inline std::string bytes_of(nb::handle string) {
  nb::bytes encoded =
      nb::steal<nb::bytes>(PyUnicode_AsEncodedString(string.ptr(), "utf-8", "backslashreplace"));
  if (!encoded.is_valid()) throw nb::python_error();
  return std::string(encoded.c_str(), encoded.size());
}

// A compiler in Python for DecompileOptions; null for None.
CompileSource compile_source(const nb::object& hook);

void bind_decompile(nb::module_& module);   // code objects as bytes: decoding, comparing
void bind_decompiler(nb::module_& module);  // source for code objects
void bind_reduce(nb::module_& module);      // the minifier's search

}  // namespace suture::toolbox
