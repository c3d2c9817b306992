// FrameInput: what a frame was called with, and how sources are fetched from it.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

#include "guard/source.h"

namespace suture {

// The function and its bound arguments (co_argcount + kwonly + *args tuple + **kwargs dict, in localsplus
// order; all non-null).
struct FrameInput {
  PyView function = nullptr;
  std::span<PyObject* const> arguments;
};

// Reusable scratch: slot values (borrowed) and symbol values.
struct GuardScratch {
  std::vector<PyObject*> slots;  // by SourceId
  std::vector<int64_t> symbols;  // by SymbolId
};

// Fetches one source; borrowed reference or null. Runs no user code and leaves no exception behind.
PyObject* fetch(const SourceTable& sources, SourceId id, const FrameInput& input) noexcept;
// One step of it: `parent` is the value of source.parent (null when it has none).
PyObject* fetch_step(const Source& source, PyObject* parent, const FrameInput& input) noexcept;

}  // namespace suture
