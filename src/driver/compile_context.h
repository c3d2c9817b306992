// CompileContext: everything a compile may depend on, passed explicitly.
#pragma once

#include <memory>

#include "capture/capture.h"
#include "driver/options.h"
#include "toolchain/toolchain.h"
#include "trace/event.h"

namespace suture {

// What suture.compile was told for this function.
struct FrameOptions {
  bool fullgraph = false;
  DynamicMode dynamic = DynamicMode::kAutomatic;
  std::string backend = "native";
  PyRef backend_callable;  // foreign backends
  std::string numerics = "exact";
  std::vector<std::pair<std::string, std::string>> overrides;  // suture.compile(options={...})
};

struct CompileContext {
  Trace& trace;
  const Options& options;
  FrameOptions frame;
  CompileId id;
};

}  // namespace suture
