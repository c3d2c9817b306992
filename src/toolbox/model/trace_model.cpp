#include "toolbox/model/trace_model.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/lists.h"
#include "trace/break_identity.h"

namespace suture::toolbox {
namespace {

int64_t to_number(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string item(const std::vector<std::string>& list, size_t i) {
  return i < list.size() ? list[i] : std::string();
}

int64_t bytes_at(const EventRecord& event, const char* field, size_t i) {
  const std::string text = item(event.list(field), i);
  return text.empty() ? -1 : to_number(text);
}

double ns_at(const EventRecord& event, size_t i) {
  const std::string text = item(event.list("ns"), i);
  return text.empty() ? -1 : std::atof(text.c_str());
}

GraphModel read_graph(const EventRecord& event) {
  GraphModel graph{event.str("graph"), event.str("code"), event.str("text"), {}};
  const auto& names = event.list("ops");
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string place = item(event.list("op_lines"), i);  // "prog.py:14"
    graph.ops.push_back({names[i], to_number(place.substr(place.rfind(':') + 1))});
  }
  return graph;
}

std::vector<GuardModel> read_guards(const EventRecord& event) {
  std::vector<GuardModel> out;
  const auto& checks = event.list("guards");
  for (size_t i = 0; i < checks.size(); ++i)
    out.push_back({checks[i], item(event.list("sources"), i), item(event.list("kinds"), i),
                   item(event.list("lines"), i), ns_at(event, i)});
  return out;
}

std::vector<KernelModel> read_kernels(const EventRecord& event, const std::string& function) {
  std::vector<KernelModel> out;
  const auto& names = event.list("kernels");
  for (size_t i = 0; i < names.size(); ++i)
    out.push_back({names[i], item(event.list("signatures"), i), event.str("path"), event.str("graph"),
                   function, item(event.list("kernel_ops"), i), item(event.list("kernel_lines"), i),
                   bytes_at(event, "bytes_read", i), bytes_at(event, "bytes_written", i), event.str("code")});
  return out;
}

KernelBuild read_build(const EventRecord& event) {
  KernelBuild build{event.str("tool"), event.flag("cache_hit"), event.number("ms"), {}};
  for (const char* part : {"load_ms", "frontend_ms", "optimise_ms", "codegen_ms", "link_ms"})
    build.parts.emplace_back(part, event.number(part));
  return build;
}

std::vector<int64_t> frame_numbers(const std::vector<std::string>& texts) {
  std::vector<int64_t> out;
  for (const std::string& text : texts) out.push_back(to_number(text));
  return out;
}

BytecodeModel read_bytecode(const EventRecord& event) {
  return {event.str("name"),
          event.str("file"),
          event.integer("line"),
          event.integer("instructions"),
          event.integer("transformed"),
          event.flag("loop"),
          "",
          "",
          event.list("continuations"),
          frame_numbers(event.list("continuation_frames"))};
}

// Lines of other writers may have none.
Severity severity_of(const EventRecord& event, Severity otherwise = Severity::kWarning) {
  return severity_named(event.str("severity")).value_or(otherwise);
}

RecompileModel read_recompile(const EventRecord& event) {
  return {event.str("function"), event.str("file"), event.integer("line"), event.list("failures_verbose"),
          read_causes(event, "failures")};
}

template <class List, class Same>
typename List::value_type& find_or_add(List& list, Same same) {
  auto found = std::find_if(list.begin(), list.end(), same);
  if (found != list.end()) return *found;
  return list.emplace_back();
}

}  // namespace

const FrameModel* TraceModel::find_frame(int frame) const {
  auto found =
      std::find_if(frames.begin(), frames.end(), [&](const FrameModel& f) { return f.frame == frame; });
  return found == frames.end() ? nullptr : &*found;
}

FrameModel& TraceModel::frame_of(const EventRecord& event) {
  auto& frame = find_or_add(frames, [&](const FrameModel& f) { return f.frame == event.compile.frame; });
  frame.frame = event.compile.frame;
  bool names_frame =
      event.is(EventId::kFrameStart) || event.is(EventId::kFrameDone) || event.is(EventId::kRecompile);
  if (names_frame) {
    frame.function = event.str("function");
    frame.file = event.str("file");
    frame.line = event.integer("line");
  }
  if (event.is(EventId::kFrameStart)) frame.kind = frame_kind_named(event.str("kind"));
  return frame;
}

CompileModel& TraceModel::compile_of(const EventRecord& event) {
  FrameModel& frame = frame_of(event);
  auto& compile =
      find_or_add(frame.compiles, [&](const CompileModel& c) { return c.number == event.compile.compile; });
  compile.number = event.compile.compile;
  if (compile.id.empty()) compile.id = CompileId{event.compile.frame, event.compile.compile, 0}.str();
  return compile;
}

void TraceModel::add_break(const EventRecord& event) {
  const BreakIdentity identity = break_identity(event);
  auto& record = find_or_add(breaks, [&](const BreakModel& b) {
    return BreakIdentity{b.file, b.line, b.column, b.reason_id} == identity;
  });
  // Events of other writers may not say it.
  const std::string function = event.str("function");
  if (record.hits == 0) record.function = function.empty() ? frame_of(event).function : function;
  record.reason_id = event.str("reason_id");
  record.severity = severity_of(event);
  record.cause_id = event.str("cause_id");
  record.cause_file = event.str("cause_file");
  record.cause_line = event.integer("cause_line");
  record.reason = event.str("reason");
  record.explanation = event.str("explanation");
  record.hints = event.list("hints");
  record.stack = read_callers(event);
  record.file = event.str("file");
  record.line = identity.line;
  record.column = identity.column;
  record.source = event.str("source");
  if (auto effect = event.str("effect_id"); !effect.empty())
    add_once(record.effects, BreakEffect{effect, event.str("effect"), event.list("effect_hints")});
  record.end_column = event.integer("end_column", -1);
  if (auto resume = event.str("resume"); !resume.empty()) record.resume = resume;
  for (int64_t frame : frame_numbers(event.list("resume_frames"))) add_once(record.resume_frames, frame);
  // Several attempts of one compile meet the same break; that is one meeting.
  if (add_once(record.compile_ids, CompileId{event.compile.frame, event.compile.compile, 0}.str()))
    ++record.hits;
}

void TraceModel::add_skip(const EventRecord& event) {
  auto& skip = find_or_add(skips, [&](const SkipModel& s) {
    return s.function == event.str("function") && s.file == event.str("file") &&
           s.line == event.integer("line") && s.reason_id == event.str("reason_id");
  });
  add_once(skip.frames, int64_t{event.compile.frame});
  ++skip.hits;
  skip.function = event.str("function");
  skip.reason_id = event.str("reason_id");
  skip.station = event.str("station");
  skip.severity = severity_of(event);
  skip.reason = event.str("reason");
  skip.explanation = event.str("explanation");
  skip.hints = event.list("hints");
  skip.file = event.str("file");
  skip.source = event.str("source");
  skip.line = event.integer("line");
}

void TraceModel::add_compile_part(const EventRecord& event) {
  if (event.is(EventId::kFrameStart)) compile_of(event);
  if (event.is(EventId::kGraphCaptured)) compile_of(event).graph = read_graph(event);
  if (event.is(EventId::kGuardsBuilt)) compile_of(event).guards = read_guards(event);
  if (event.is(EventId::kKernelSource))
    compile_of(event).kernels = read_kernels(event, frame_of(event).function);
  if (event.is(EventId::kKernelCompiled)) compile_of(event).builds.push_back(read_build(event));
  if (event.is(EventId::kOutputBytecode)) compile_of(event).bytecode = read_bytecode(event);
  if (event.is(EventId::kFrameCode)) {
    if (auto& bytecode = compile_of(event).bytecode) {
      bytecode->code = event.str("transformed");
      bytecode->python = event.str("python");
    }
  }
  if (event.is(EventId::kRecompile)) compile_of(event).recompiles = {read_recompile(event)};
  if (event.is(EventId::kDynamic) && event.str("why") != "fact")
    symbols.push_back({event.str("symbol"), event.str("source"), event.str("why")});
  if (!event.is(EventId::kFrameDone)) return;
  CompileModel& compile = compile_of(event);
  compile.ms = event.number("ms");
  compile.phases = event.dict("phases");
  compile.done = true;
}

void TraceModel::add_trouble(const EventRecord& event) {
  const FrameModel* frame = find_frame(event.compile.frame);
  std::string file = frame ? frame->file : "";
  int64_t line = frame ? frame->line : 0;
  if (event.is(EventId::kRecompileLimit))
    limits.push_back({event.str("function"), event.str("file"), event.str("reason_id"),
                      severity_of(event, Severity::kError), event.list("hints"), event.integer("line"),
                      event.integer("limit"), read_causes(event, "reasons")});
  if (event.is(EventId::kInternalError))
    internal_errors.push_back({event.str("function"), event.str("file"), event.str("reason_id"),
                               event.str("step"), event.str("message"), event.str("artifact"),
                               severity_of(event, Severity::kError), event.list("hints"),
                               event.integer("line")});
  if (event.is(EventId::kCacheTrouble)) cache_troubles.push_back({event.str("path"), event.str("message")});
  if (!event.is(EventId::kReplay)) return;
  auto& replay = find_or_add(replays, [&](const ReplayModel& r) {
    return r.graph == event.str("graph") && r.conditions == event.str("conditions");
  });
  replay = {event.str("graph"),
            frame ? frame->function : "",
            file,
            event.str("conditions"),
            line,
            replay.count + std::max<int64_t>(1, event.integer("count"))};  // older traces do not say
}

void TraceModel::add_hint(const EventRecord& event) {
  auto& hint = find_or_add(hints, [&](const HintModel& h) {
    return h.frame == event.compile.frame && h.id == event.str("id") && h.line == event.integer("line") &&
           h.sentence == event.str("sentence") && h.file == event.str("file");
  });
  const FrameModel* frame = find_frame(event.compile.frame);
  hint = {event.str("id"),       event.str("title"),     frame ? frame->function : event.str("function"),
          event.str("file"),     event.str("sentence"),  event.str("why"),
          event.str("evidence"), event.str("advice"),    event.compile.frame,
          event.integer("line"), event.integer("bytes"), event.number("cost_ms")};
}

void TraceModel::add_injected_fault(const EventRecord& event) {
  auto& fault = find_or_add(injected_faults, [&](const InjectedFaultModel& f) {
    return f.kind == event.str("kind") && f.at == event.str("at") && f.node == event.str("node") &&
           f.graph == event.str("graph");
  });
  const FrameModel* frame = find_frame(event.compile.frame);
  fault = {event.str("stage"), event.str("kind"),     event.str("what"),  event.str("at"),
           event.str("op"),    event.str("node"),     event.str("graph"), frame ? frame->function : "",
           event.str("file"),  event.integer("line"), fault.count + 1};
}

void TraceModel::add_calls_during_compile(const EventRecord& event) {
  const std::string function = event.str("function"), file = event.str("file"), reason = event.str("reason");
  auto& calls = find_or_add(during_compile, [&](const DuringCompileModel& c) {
    return c.function == function && c.file == file && c.line == event.integer("line") && c.reason == reason;
  });
  calls = {function,
           file,
           reason,
           event.integer("line"),
           calls.calls + event.integer("calls"),
           calls.nested + event.integer("nested")};
}

void TraceModel::add(const EventRecord& event) {
  if (event.is(EventId::kCallsDuringCompile)) return add_calls_during_compile(event);
  if (event.is(EventId::kPerfHint)) return add_hint(event);
  if (event.is(EventId::kFaultInjected)) return add_injected_fault(event);
  if (event.is(EventId::kGraphBreak)) return add_break(event);
  if (event.is(EventId::kFrameSkipped)) return add_skip(event);
  add_compile_part(event);
  add_trouble(event);
}

void TraceModel::add_line(std::string_view line) {
  auto event = parse_event(line);
  if (event.ok())
    add(names_ == Names::kForLines ? for_lines(std::move(*event)) : *event);
  else
    ++unreadable_lines;
}

}  // namespace suture::toolbox
