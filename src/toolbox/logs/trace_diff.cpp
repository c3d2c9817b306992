#include "toolbox/logs/trace_diff.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/escaped_text.h"
#include "base/json_writer.h"
#include "toolbox/logs/trace_match.h"
#include "toolbox/model/text.h"
#include "toolbox/model/trace_model.h"

namespace suture::toolbox {
namespace {

struct Item {
  TraceChange about;
  double value = 0;  // how often, or how much
};
using Items = std::map<std::string, Item>;  // by key

// A compile that has a graph.
struct CompiledGraph {
  std::string function, file;
  std::string text, code;  // without places
  int64_t line = 0;
  int number = 0;  // among the graphs of its function
  double ops = 0, kernels = 0;
  TraceChange about(const char* what) const {
    return {what, "",   function,
            file, line, number ? fmt::format("compile {} of it", number) : "its first compile"};
  }
};

struct Run {
  Items breaks, skips, recompiles, phases;
  std::map<std::string, std::vector<CompiledGraph>> graphs;  // by file and function, in order of compilation
};

void count(Items& items, const std::string& key, TraceChange about, double by = 1) {
  auto [at, fresh] = items.try_emplace(key, Item{std::move(about), 0});
  at->second.value += by;
}

// "0/1: array 'x' ..." without the entry's number
std::string sentence_of(const std::string& failure) {
  const size_t colon = failure.find(": ");
  const bool numbered = colon != std::string::npos && failure.find_first_not_of("0123456789/_") == colon;
  return numbered ? failure.substr(colon + 2) : failure;
}

void add_graphs(Run& run, const FrameModel& frame, const FileNames& files) {
  const std::string name = name_in(files, frame.file) + "\n" + function_key(frame.function);
  for (const CompileModel& compile : frame.compiles) {
    for (const auto& [phase, ms] : compile.phases)
      count(run.phases, phase, {"phase", "", "", "", 0, phase}, ms);
    for (const RecompileModel& recompile : compile.recompiles)
      for (const CauseModel& cause : recompile.causes)
        count(run.recompiles, name + "\n" + without_places(files, sentence_of(cause.sentence)),
              {"recompile", "", frame.function, frame.file, frame.line, sentence_of(cause.sentence)});
    if (!compile.has_graph()) continue;
    auto& graphs = run.graphs[name];
    CompiledGraph graph{frame.function,
                        frame.file,
                        graph_contents(compile.graph.text),
                        "",
                        frame.line,
                        static_cast<int>(graphs.size())};
    graph.ops = static_cast<double>(compile.graph.ops.size());
    graph.kernels = static_cast<double>(compile.kernels.size());
    std::string last;
    for (const KernelModel& kernel : compile.kernels)
      if (last != kernel.code) graph.code += kernel_contents(last = kernel.code);
    graphs.push_back(std::move(graph));
  }
}

using Models = std::vector<TraceModel>;  // per process

Models read_models(const RunLines& files) {
  Models models;
  for (const auto& lines : files) {
    TraceModel& model = models.emplace_back();
    for (const std::string& line : lines) model.add_line(line);
  }
  return models;
}

std::set<std::string> files_of(const Models& models) {
  std::set<std::string> files;
  for (const TraceModel& model : models) {
    for (const FrameModel& frame : model.frames) files.insert(frame.file);
    for (const BreakModel& record : model.breaks) files.insert(record.file);
    for (const SkipModel& skip : model.skips) files.insert(skip.file);
  }
  return files;
}

template <class Record>
std::string key_of(const Record& record, const FileNames& files) {
  return fmt::format("{}\n{}\n{}\n{}", name_in(files, record.file), function_key(record.function),
                     record.reason_id, without_places(files, record.explanation));
}

Run read_run(const Models& models, const FileNames& files) {
  Run run;
  for (const TraceModel& model : models) {
    for (const BreakModel& b : model.breaks)
      count(run.breaks, key_of(b, files),
            {"break", "", b.function, b.file, b.line,
             fmt::format("{} ({}): {}", b.reason, b.reason_id, b.explanation)},
            static_cast<double>(b.hits));
    for (const SkipModel& s : model.skips)
      count(run.skips, key_of(s, files),
            {"skip", "", s.function, s.file, s.line,
             fmt::format("{} ({}): {}", s.reason, s.reason_id, s.explanation)},
            static_cast<double>(s.hits));
    for (const FrameModel& frame : model.frames) add_graphs(run, frame, files);
  }
  return run;
}

std::string change_of(const Item& before, const Item& after) {
  if (before.value == after.value) return "";
  return after.value > before.value ? "more" : "fewer";
}

std::string slower_or_faster(double before, double after) {
  const double difference = std::abs(after - before);
  if (difference < 1 || difference < 0.2 * std::max(before, after)) return "";
  return after > before ? "slower" : "faster";
}

void compare(const Items& before, const Items& after, bool times, std::vector<TraceChange>& out) {
  const auto report = [&](TraceChange change, const char* word, double was, double is) {
    change.change = word;
    change.before = was;
    change.after = is;
    out.push_back(std::move(change));
  };
  static const Item nothing;
  for (const auto& [key, item] : after) {
    const auto old = before.find(key);
    const Item& was = old == before.end() ? nothing : old->second;
    const std::string word = times                 ? slower_or_faster(was.value, item.value)
                             : old == before.end() ? "new"
                                                   : change_of(was, item);
    if (!word.empty()) report(item.about, word.c_str(), was.value, item.value);
  }
  for (const auto& [key, item] : before) {
    if (after.contains(key)) continue;
    const std::string word = times ? slower_or_faster(item.value, 0) : "gone";
    if (!word.empty()) report(item.about, word.c_str(), item.value, 0);
  }
}

using Graphs = std::vector<CompiledGraph>;
using Partners = std::vector<std::optional<size_t>>;  // of each graph after: one before

// Pairs graphs that have no partner yet and of which `alike` says that they belong together, each in order.
template <class Alike>
void pair_up(const Graphs& before, const Graphs& after, Partners& partners, std::vector<bool>& taken,
             Alike alike) {
  for (size_t i = 0; i < after.size(); ++i)
    for (size_t j = 0; j < before.size() && !partners[i]; ++j)
      if (!taken[j] && alike(before[j], after[i])) partners[i] = j, taken[j] = true;
}

void report_graph(const char* what, const char* word, const CompiledGraph& about, double was, double is,
                  std::vector<TraceChange>& out) {
  TraceChange change = about.about(what);
  change.change = word;
  change.before = was;
  change.after = is;
  out.push_back(std::move(change));
}

// Of one function. Equal texts first, so that a compile that is new or gone moves no other one; what is left over is taken
// for changed versions of each other, at the same line before anywhere else.
void compare_graphs(const Graphs& before, const Graphs& after, std::vector<TraceChange>& out) {
  Partners partners(after.size());
  std::vector<bool> taken(before.size());
  using G = const CompiledGraph&;
  pair_up(before, after, partners, taken,
          [](G a, G b) { return a.line == b.line && a.text == b.text && a.code == b.code; });
  pair_up(before, after, partners, taken, [](G a, G b) { return a.text == b.text && a.code == b.code; });
  pair_up(before, after, partners, taken, [](G a, G b) { return a.line == b.line && a.text == b.text; });
  pair_up(before, after, partners, taken, [](G a, G b) { return a.text == b.text; });
  pair_up(before, after, partners, taken, [](G a, G b) { return a.line == b.line; });
  pair_up(before, after, partners, taken, [](G, G) { return true; });
  for (size_t i = 0; i < after.size(); ++i) {
    if (!partners[i]) {
      report_graph("graph", "new", after[i], 0, after[i].ops, out);
      continue;
    }
    const CompiledGraph& old = before[*partners[i]];
    if (old.text != after[i].text) report_graph("graph", "changed", after[i], old.ops, after[i].ops, out);
    if (old.code != after[i].code)
      report_graph("kernels", "changed", after[i], old.kernels, after[i].kernels, out);
  }
  for (size_t j = 0; j < before.size(); ++j)
    if (!taken[j]) report_graph("graph", "gone", before[j], before[j].ops, 0, out);
}

void compare_graphs(const Run& before, const Run& after, std::vector<TraceChange>& out) {
  const Graphs none;
  const auto graphs_of = [&](const Run& run, const std::string& name) -> const Graphs& {
    const auto found = run.graphs.find(name);
    return found == run.graphs.end() ? none : found->second;
  };
  for (const auto& [name, graphs] : after.graphs) compare_graphs(graphs_of(before, name), graphs, out);
  for (const auto& [name, graphs] : before.graphs)
    if (!after.graphs.contains(name)) compare_graphs(graphs, none, out);
}

std::string line_of(const TraceChange& change) {
  if (change.what == "phase")
    return fmt::format("phase {} {}: {:.1f} ms, was {:.1f} ms", change.text, change.change, change.after,
                       change.before);
  const std::string where = change.file.empty() ? "" : fmt::format(" ({})", place(change.file, change.line));
  std::string out =
      fmt::format("{} {} in {}{}: {}", change.change, change.what, change.function, where, change.text);
  if (change.what == "graph" && change.change == "changed")
    out += fmt::format(", {:.0f} ops, was {:.0f}", change.after, change.before);
  else if (change.what != "graph" && change.what != "kernels" && change.before > 0 && change.after > 0)
    out += fmt::format(" [{:.0f} times, was {:.0f}]", change.after, change.before);
  return out;
}

}  // namespace

std::vector<TraceChange> diff_runs(const RunLines& before, const RunLines& after) {
  const Models old = read_models(before), now = read_models(after);
  const Run a = read_run(old, {}), b = read_run(now, paired_files(files_of(old), files_of(now)));
  std::vector<TraceChange> out;
  compare(a.breaks, b.breaks, false, out);
  compare(a.skips, b.skips, false, out);
  compare(a.recompiles, b.recompiles, false, out);
  compare_graphs(a, b, out);
  compare(a.phases, b.phases, true, out);
  return out;
}

std::string diff_json(const std::vector<TraceChange>& changes) {
  JsonWriter json;
  json.begin_object().field("schema", 1).key("changes").begin_array();
  for (const TraceChange& change : changes)
    json.begin_object()
        .field("what", change.what)
        .field("change", change.change)
        .field("function", change.function)
        .field("file", change.file)
        .field("line", change.line)
        .field("text", change.text)
        .field("before", change.before)
        .field("after", change.after)
        .end_object();
  json.end_array().end_object();
  return json.text();
}

std::string diff_text(const std::vector<TraceChange>& changes) {
  if (changes.empty()) return "Nothing changed.\n";
  std::string out;
  for (const TraceChange& change : changes) out += escaped_line(line_of(change)) + "\n";
  return out;
}

}  // namespace suture::toolbox
