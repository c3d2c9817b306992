// Guards of an entry as events and status rows tell them: check, source, user line, and what they cost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "driver/compile_context.h"
#include "guard/guard_python.h"
#include "runtime/code_cache.h"

namespace suture {

struct GuardRow {
  std::string check, source, origin, kind;
  std::string place,
      place_source;     // file:line that made capture rely on it, and its text; empty when unknown
  std::string removal;  // see guard_removal
  int64_t tested = 0, failures = 0;
  double ns = -1;  // -1: not measured
};

// In order of evaluation.
std::vector<GuardRow> guard_rows(const CacheEntry& entry);
double guard_ns(const CacheEntry& entry);  // all together; -1: not measured

void report_guards(const CompileContext& ctx, const CacheEntry& entry, PyView function);
// The guards as a Python function.
GuardFunction guard_function(const CompileId& id, const CacheEntry& entry, PyView function);
Event guard_code_event(const CompileId& id, const CacheEntry& entry, PyView function);
Event guard_costs_event(const CompileId& id, const CacheEntry& entry);
std::function<void(const CacheEntry&)> guard_costs_reporter(const CompileContext& ctx);

}  // namespace suture
