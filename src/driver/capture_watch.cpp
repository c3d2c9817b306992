#include "driver/capture_watch.h"

#include "capture/source_text.h"

namespace suture {
namespace {

Event at_place(EventId event, const CompileId& id, const UserSpan& where, int depth) {
  return Event(event, id)
      .set("function", where.function)
      .set("file", where.file)
      .set("line", int64_t{where.line})
      .set("depth", int64_t{depth});
}

}  // namespace

CaptureWatch::CaptureWatch(const CompileContext& ctx) : trace_(ctx.trace), id_(ctx.id) {
  wants_lines = trace_.wants(EventId::kTraceLine);
  wants_calls = trace_.wants(EventId::kTraceCall);
  wants_instructions = trace_.wants(EventId::kTraceInstruction);
}

void CaptureWatch::attempt(int number) {
  id_.attempt = number;
  last_ = {};
  last_depth_ = -1;
}

void CaptureWatch::line(const UserSpan& where, int depth) {
  const bool same = where.line == last_.line && depth == last_depth_ && where.file == last_.file;
  if (!where.known() || same) return;
  last_ = where;
  last_depth_ = depth;
  trace_.emit(at_place(EventId::kTraceLine, id_, where, depth).set("source", raw_source_line(where)));
}

void CaptureWatch::instruction(const UserSpan& where, int depth, int offset, const std::string& text,
                               std::vector<std::string> stack) {
  trace_.emit(at_place(EventId::kTraceInstruction, id_, where, depth)
                  .set("offset", int64_t{offset})
                  .set("instruction", text)
                  .set("stack", std::move(stack)));
}

void CaptureWatch::call(const UserSpan& where, int depth, const std::string& callee,
                        const std::string& outcome, const std::string& detail) {
  const bool one_line = where.end_line == where.line;
  trace_.emit(at_place(EventId::kTraceCall, id_, where, depth)
                  .set("callee", callee)
                  .set("outcome", outcome)
                  .set("detail", detail)
                  .set("column", int64_t{where.column})
                  .set("end_column", int64_t{one_line ? where.end_column : -1})
                  .set("source", raw_source_line(where)));
}

}  // namespace suture
