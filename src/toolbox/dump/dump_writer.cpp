#include "toolbox/dump/dump_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/escaped_text.h"
#include "base/sha256.h"
#include "toolbox/dump/dump_files.h"
#include "toolbox/dump/recorded_run.h"
#include "toolbox/dump/run_support.h"

namespace suture::toolbox {
namespace {

constexpr size_t kCompilesWithEvents = 128;
constexpr size_t kMostTroubles = 100;

std::pair<int, int> key_of(const CompileId& id) { return {id.frame, id.compile}; }

DumpedFile described(std::string_view name, std::string_view text, std::string_view event,
                     std::string_view doc) {
  return {std::string(name), to_hex(sha256(text)), std::string(event), std::string(doc),
          static_cast<int64_t>(text.size())};
}

// The last event of a compile, whether it succeeded or not.
bool ends_compile(const EventRecord& event) {
  return event.is(EventId::kFrameDone) || event.is(EventId::kFrameSkipped) ||
         event.is(EventId::kInternalError);
}

// Of an event that would have made a file: why there is none, "" when nothing is missing.
std::string why_missing(const EventRecord& event) {
  return event.is(EventId::kKernelAssembly) ? event.str("message") : "";
}

bool makes_a_file(const EventRecord& event) {
  return std::ranges::any_of(all_dump_files(), [&](const DumpFile& file) {
    return std::ranges::find(file.events, *event.event) != file.events.end();
  });
}

}  // namespace

std::string_view name_of(DumpState state) {
  switch (state) {
    case DumpState::kRunning: return "running";
    case DumpState::kCompiled: return "compiled";
    case DumpState::kSkipped: return "skipped";
    case DumpState::kFailed: return "failed";
  }
  return "";
}

std::string DumpWriter::open(const std::string& path) {
  if (std::string why = directory_.open(path); !why.empty()) return why;
  const auto share = [&](const char* name, std::string_view text, const char* doc) {
    if (text.empty()) return;
    std::string why = directory_.write("", name, text);
    if (why.empty())
      shared_.push_back(described(name, text, "", doc));
    else
      note(std::move(why));
  };
  share("prelude.h", settings_.prelude, "What kernels are compiled on top of");
  share("run_support.h", run_support_text(), "What the mains of output_code.cpp call");
  write_index();
  return take_trouble();
}

void DumpWriter::note(std::string trouble) {
  if (troubles_.size() < kMostTroubles) troubles_.push_back(std::move(trouble));
}

std::string DumpWriter::take_trouble() {
  if (told_ || troubles_.empty()) return "";
  told_ = true;
  return troubles_.front();
}

DumpedCompile* DumpWriter::compile_of(const CompileId& id) {
  const auto key = key_of(id);
  if (auto found = compiles_.find(key); found != compiles_.end()) return &found->second;
  if (static_cast<int64_t>(compiles_.size()) >= settings_.limit) {
    refused_.emplace(key, true);
    return nullptr;
  }
  DumpedCompile& made = compiles_[key];
  made.dump.compile = {id.frame, id.compile, 0};
  made.dump.source_line = &settings_.source_line;
  made.dump.compile_source = &settings_.compile_source;
  made.dump.build_flags = &settings_.build_flags;
  order_.push_back(key);
  forget_old_events();
  return &made;
}

void DumpWriter::forget_old_events() {
  while (order_.size() - forgotten_ > kCompilesWithEvents) {
    DumpedCompile& old = compiles_[order_[forgotten_++]];
    old.forgotten = true;
    old.dump.events = {};
    old.dump.lines = {};
  }
}

void DumpWriter::learn(DumpedCompile& compile, const EventRecord& event) {
  const bool names = event.is(EventId::kFrameStart) || event.is(EventId::kFrameDone) ||
                     event.is(EventId::kRecompile) || event.is(EventId::kRecompileLimit) ||
                     event.is(EventId::kInternalError);
  if (names) {
    compile.dump.function = event.str("function");
    compile.dump.file = event.str("file");
    compile.dump.line = event.integer("line");
  }
  compile.links.learn(event);
  if (event.is(EventId::kFrameStart)) compile.dump.kind = event.str("kind");
  if (event.is(EventId::kFrameDone)) {
    compile.state = DumpState::kCompiled;
    compile.ms = event.number("ms");
  }
  if (event.is(EventId::kFrameSkipped) && compile.state == DumpState::kRunning)
    compile.state = DumpState::kSkipped;
  if (event.is(EventId::kInternalError)) compile.state = DumpState::kFailed;
  // Stable from here on; the first event of a compile says what the function is called.
  if (compile.directory.empty())
    compile.directory =
        fmt::format("{}_{}_{}", safe_name(compile.dump.function == "?" ? "" : compile.dump.function),
                    compile.dump.compile.frame, compile.dump.compile.compile);
}

void DumpWriter::write_files(DumpedCompile& compile, const EventRecord& event) {
  for (const DumpFile& file : all_dump_files()) {
    if (std::ranges::find(file.events, *event.event) == file.events.end()) continue;
    const std::string text =
        escaped_text(file.write(compile.dump));  // paging through a dump is harmless, too
    if (text.empty()) {
      if (std::string why = why_missing(event); !why.empty()) compile.missing[std::string(file.name)] = why;
      continue;
    }
    std::string why = directory_.write(compile.directory, std::string(file.name), text);
    if (!why.empty()) {
      note(std::move(why));
      continue;
    }
    compile.files[std::string(file.name)] = described(file.name, text, event.name, file.doc);
    if (file.linked) compile.links.scan(std::string(file.name), text);
  }
}

// The recorder wrote them; the event says what they are.
void DumpWriter::note_saved_arrays(DumpedCompile& compile) {
  const auto run = recorded_run(compile.dump);
  if (!run) return;
  for (const RecordedInput& input : run->inputs)
    if (!input.file.empty())
      compile.files[input.file] = {input.file, input.sha256, "graph_run", "Input " + input.name, input.bytes};
  for (const RecordedStep& step : run->steps)
    if (!step.file.empty())
      compile.files[step.file] = {step.file, step.sha256, "graph_run",
                                  fmt::format("What NumPy computed in step {} of the launch plan", step.step),
                                  step.bytes};
}

std::string DumpWriter::add_line(std::string_view line) {
  auto event = parse_event(line);
  if (!event.ok() || !event->event || event->compile.frame < 0) return "";
  DumpedCompile* compile = compile_of(event->compile);
  // What follows a compile that has ended comes once per call (replays): kept only when a file is made of it.
  const bool late = compile && compile->state != DumpState::kRunning;
  if (!compile || compile->forgotten || (late && !makes_a_file(*event))) return "";
  compile->dump.events.push_back(*event);
  compile->dump.lines.emplace_back(line);
  learn(*compile, *event);
  if (event->is(EventId::kGraphRun)) note_saved_arrays(*compile);
  write_files(*compile, *event);
  if (ends_compile(*event)) ++ended_;
  // Every end at first, later every sixteenth part: the index of n compiles is written O(log n) times beyond 16.
  if (ends_compile(*event) && ended_ >= indexed_ + std::max<size_t>(1, indexed_ / 16)) write_index();
  return take_trouble();
}

std::string DumpWriter::directory_of(std::string_view compile_id) {
  CompileId id;
  const char* end = compile_id.data() + compile_id.size();
  const auto frame = std::from_chars(compile_id.data(), end, id.frame);
  if (frame.ec != std::errc() || frame.ptr == end || *frame.ptr != '/') return "";
  if (std::from_chars(frame.ptr + 1, end, id.compile).ec != std::errc()) return "";
  const auto found = compiles_.find(key_of(id));
  if (found == compiles_.end() || found->second.directory.empty()) return "";
  if (std::string why = directory_.make(found->second.directory); !why.empty())
    return note(std::move(why)), "";
  return found->second.directory;
}

void DumpWriter::write_index() {
  indexed_ = ended_;
  DumpIndex index{
      {}, shared_, troubles_, settings_.source_line, settings_.facts, static_cast<int64_t>(refused_.size())};
  for (const auto& key : order_) index.compiles.push_back(&compiles_.at(key));
  // The manifest last: what it lists is there.
  for (const char* name : {"index.html", "index.json"}) {
    const auto text = [&] {
      return name == std::string_view("index.html") ? index_html(index) : index_json(index);
    };
    std::string why = directory_.write("", name, text());
    if (why.empty()) continue;
    note(std::move(why));
    // An old index would say of files what is no longer true. Where the disk is full, its going makes room for the new one.
    directory_.remove(name);
    directory_.write("", name, text());
  }
}

std::string DumpWriter::finish() {
  write_index();
  return take_trouble();
}

}  // namespace suture::toolbox
