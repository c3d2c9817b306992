// CaptureWatch: makes events of what capture meets, for the logs trace_source, trace_call and trace_bytecode.
#pragma once

#include "capture/capture_observer.h"
#include "driver/compile_context.h"

namespace suture {

class CaptureWatch : public CaptureObserver {
 public:
  explicit CaptureWatch(const CompileContext& ctx);
  // Null when nobody listens: capture then does nothing for it.
  CaptureObserver* observer() { return wants_lines || wants_calls || wants_instructions ? this : nullptr; }

  void attempt(int number) override;
  void line(const UserSpan& where, int depth) override;
  void instruction(const UserSpan& where, int depth, int offset, const std::string& text,
                   std::vector<std::string> stack) override;
  void call(const UserSpan& where, int depth, const std::string& callee, const std::string& outcome,
            const std::string& detail) override;

 private:
  Trace& trace_;
  CompileId id_;
  UserSpan last_;  // the line shown last
  int last_depth_ = -1;
};

}  // namespace suture
