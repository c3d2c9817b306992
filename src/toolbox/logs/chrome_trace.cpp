#include "toolbox/logs/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "toolbox/model/event_record.h"
#include "toolbox/model/json_reader.h"

namespace suture::toolbox {
namespace {

using Parts = std::vector<std::pair<std::string, double>>;  // name, milliseconds

struct Slice {
  std::string name, category;
  double start = 0, length = 0;  // microseconds
  int64_t pid = 0, tid = 0;
  std::vector<std::pair<std::string, std::string>> arguments;
  bool instant = false;
};

constexpr EventId kInstants[] = {EventId::kGraphBreak,     EventId::kFrameSkipped,  EventId::kRecompile,
                                 EventId::kRecompileLimit, EventId::kInternalError, EventId::kReplay};

class ChromeWriter {
 public:
  void add_file(const std::vector<std::string>& lines) {
    pid_ = ++unnamed_;
    passes_.clear();
    kernels_.clear();
    threads_.clear();
    std::vector<EventRecord> events;
    for (const std::string& line : lines) {
      auto event = parse_event(line);
      if (!event.ok()) continue;
      if (event->name.empty()) read_header(line);
      if (event->is(EventId::kFrameDone)) threads_[event->id] = thread_of(*event);
      events.push_back(std::move(*event));
    }
    for (const EventRecord& event : events) add(event);
  }

  std::string text() {
    std::ranges::stable_sort(slices_, [](const Slice& a, const Slice& b) {
      return a.start != b.start ? a.start < b.start : a.length > b.length;
    });
    JsonWriter json;
    json.begin_object().field("displayTimeUnit", "ms").key("traceEvents").begin_array();
    for (const auto& [pid, name] : processes_) {
      json.begin_object().field("ph", "M").field("name", "process_name").field("pid", pid).field("tid", pid);
      json.key("args").begin_object().field("name", name).end_object().end_object();
    }
    for (const Slice& slice : slices_) write(json, slice);
    json.end_array().end_object();
    return json.text();
  }

 private:
  int64_t thread_of(const EventRecord& event) const { return event.integer("thread", pid_); }

  void read_header(const std::string& line) {
    simdjson::dom::parser parser;
    simdjson::dom::object header;
    if (parser.parse(simdjson::padded_string(line)).get(header) != simdjson::SUCCESS) return;
    if (const int64_t pid = json_int(header, "pid"); pid > 0) pid_ = pid;
    processes_[pid_] = fmt::format("python {} (suture {})", pid_, json_str(header, "suture"));
  }

  void add(const EventRecord& event) {
    if (event.is(EventId::kPassDone)) passes_[event.id].emplace_back(event.str("name"), event.number("ms"));
    if (event.is(EventId::kKernelCompiled)) {
      static constexpr std::pair<const char*, const char*> kSteps[] = {{"load_ms", "load compiler"},
                                                                       {"frontend_ms", "front end"},
                                                                       {"optimise_ms", "optimise"},
                                                                       {"codegen_ms", "code generation"},
                                                                       {"link_ms", "link"}};
      for (const auto& [field, name] : kSteps)
        if (event.number(field) > 0) kernels_[event.id].emplace_back(name, event.number(field));
    }
    if (event.is(EventId::kFrameDone)) add_compile(event);
    if (std::ranges::find_if(kInstants, [&](EventId id) { return event.is(id); }) != std::end(kInstants))
      add_instant(event);
  }

  void add_instant(const EventRecord& event) {
    auto thread = threads_.find(event.id);
    Slice slice{event.name, "event", event.time * 1e6,
                0,          pid_,    thread == threads_.end() ? pid_ : thread->second,
                {},         true};
    for (const char* field : {"reason_id", "reason", "explanation", "conditions", "message"})
      if (std::string text = event.str(field); !text.empty())
        slice.arguments.emplace_back(field, std::move(text));
    if (std::string file = event.str("file"); !file.empty())
      slice.arguments.emplace_back("place", fmt::format("{}:{}", file, event.integer("line")));
    for (const std::string& failure : event.list("failures")) slice.arguments.emplace_back("guard", failure);
    slices_.push_back(std::move(slice));
  }

  void add_compile(const EventRecord& event) {
    const double length = event.number("ms") * 1e3;
    Slice whole{fmt::format("compile {} [{}]", event.str("function"), event.id),
                "compile",
                event.time * 1e6 - length,
                length,
                pid_,
                thread_of(event),
                {{"place", fmt::format("{}:{}", event.str("file"), event.integer("line"))},
                 {"graph", event.str("graph")}}};
    slices_.push_back(whole);
    for (const auto& [phase, ms] : event.dict("phases")) {
      if (phase == "total") continue;
      double start = whole.start;
      for (const auto& [name, at] : event.dict("phase_starts"))
        if (name == phase) start = whole.start + at * 1e3;
      const Slice part = child(whole, phase, start, ms * 1e3);
      if (phase == "passes") add_row(part, passes_[event.id]);
      if (phase == "compile") add_row(part, kernels_[event.id]);
    }
  }

  // Cut to its parent.
  Slice child(const Slice& parent, const std::string& name, double start, double length) {
    const double end = parent.start + parent.length;
    Slice slice{name, "phase", std::clamp(start, parent.start, end), 0, parent.pid, parent.tid, {}};
    slice.length = std::min(length, end - slice.start);
    slices_.push_back(slice);
    return slice;
  }

  void add_row(const Slice& parent, const Parts& parts) {
    double at = parent.start;
    for (const auto& [name, ms] : parts) {
      const Slice part = child(parent, name, at, ms * 1e3);
      at = part.start + part.length;
    }
  }

  static void write(JsonWriter& json, const Slice& slice) {
    json.begin_object()
        .field("ph", slice.instant ? "i" : "X")
        .field("name", slice.name)
        .field("cat", slice.category);
    // Microseconds since the epoch need more digits than the shortest form of small numbers; three decimals are ns.
    json.key("ts").raw(fmt::format("{:.3f}", slice.start));
    if (slice.instant)
      json.field("s", "t");
    else
      json.key("dur").raw(fmt::format("{:.3f}", slice.length));
    json.field("pid", slice.pid).field("tid", slice.tid).key("args").begin_object();
    std::map<std::string, std::string> merged;
    for (const auto& [name, value] : slice.arguments)
      merged[name] += (merged[name].empty() ? "" : "; ") + value;
    for (const auto& [name, value] : merged) json.field(name, value);
    json.end_object().end_object();
  }

  int64_t pid_ = 0, unnamed_ = 0;
  std::map<std::string, Parts> passes_, kernels_;  // by compile id
  std::map<std::string, int64_t> threads_;
  std::map<int64_t, std::string> processes_;
  std::vector<Slice> slices_;
};

}  // namespace

std::string chrome_trace(const RunLines& run) {
  ChromeWriter writer;
  for (const auto& lines : run) writer.add_file(lines);
  return writer.text();
}

}  // namespace suture::toolbox
