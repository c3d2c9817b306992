// CaptureObserver: somebody who watches capture work, instruction by instruction. Nobody does unless the logs trace_source,
// trace_call or trace_bytecode are wanted: then CaptureOptions::observer is set; otherwise one pointer test per instruction.
#pragma once

#include <string>
#include <vector>

#include "base/user_span.h"

namespace suture {

struct CaptureObserver {
  virtual ~CaptureObserver() = default;
  virtual void attempt(int number) = 0;  // 0 first; what came before is thrown away
  // Before an instruction runs. `depth`: inlined calls around it.
  virtual void line(const UserSpan& where, int depth) = 0;
  virtual void instruction(const UserSpan& where, int depth, int offset, const std::string& text,
                           std::vector<std::string> stack) = 0;
  // After a call: `outcome` is inlined, captured, evaluated or broke; `detail` why it broke.
  virtual void call(const UserSpan& where, int depth, const std::string& callee, const std::string& outcome,
                    const std::string& detail) = 0;

  bool wants_lines = false, wants_calls = false, wants_instructions = false;
};

}  // namespace suture
