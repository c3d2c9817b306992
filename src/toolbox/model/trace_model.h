// TraceModel: events of one or many compiles, put together: frames, their compiles, and what happened in
// each.
//
// How it works
//   Events are fed in order. The compile id says which frame and which compile of it they belong to; what a
//   capture attempt produced is replaced when a later attempt of the same compile produces it again. Breaks
//   are merged by what trace/break_identity.h calls the same one, however many compiles met it.
// Invariants
//   - Everything here is plain data read from events; missing fields are empty, never invented.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "toolbox/model/call_chain.h"
#include "toolbox/model/event_record.h"
#include "toolbox/model/recompile_causes.h"
#include "trace/frame_kind.h"
#include "trace/severity.h"

namespace suture::toolbox {

struct OpModel {
  std::string name;  // as the user wrote it: "np.sin", "ndarray.sum", "+"
  int64_t line = 0;
};

struct GraphModel {
  std::string name, code, text;
  std::vector<OpModel> ops;
};

struct GuardModel {
  std::string check, source, kind, place;
  double ns = -1;  // when it was made; -1: not measured
};

struct KernelModel {
  std::string name, signature, path, graph, function;
  std::string ops, lines;                       // comma separated
  int64_t bytes_read = -1, bytes_written = -1;  // of one run, at the sizes it was compiled with; -1 unknown
  std::string code;                             // of the whole translation unit
};

struct KernelBuild {  // one kernel_compiled event
  std::string tool;
  bool cache_hit = false;
  double ms = 0;
  std::vector<std::pair<std::string, double>> parts;
};

struct RecompileModel {
  std::string function, file;
  int64_t line = 0;
  std::vector<std::string> failures_verbose;
  std::vector<CauseModel> causes;  // one per entry that refused the call
};

struct BytecodeModel {  // output_bytecode
  std::string name, file;
  int64_t line = 0;  // of the break or loop; 0: the function returns and only writes back what it changed
  int64_t instructions = 0, transformed = 0;
  bool loop = false;
  std::string code, python;  // of frame_code: base64 of the transformed code, its version of Python
  std::vector<std::string> continuations;       // names of resume and iteration functions
  std::vector<int64_t> continuation_frames;     // of each
  int64_t continuation_frame(size_t i) const {  // -1 unknown
    return i < continuation_frames.size() ? continuation_frames[i] : -1;
  }
};

struct CompileModel {
  std::string id;  // "0/1"
  int number = 0;
  GraphModel graph;
  std::vector<GuardModel> guards;
  std::vector<KernelModel> kernels;
  std::vector<KernelBuild> builds;
  std::optional<BytecodeModel> bytecode;   // when Python runs a transformed function
  std::vector<RecompileModel> recompiles;  // at most one: why this compile happened
  double ms = 0;
  std::vector<std::pair<std::string, double>> phases;
  bool done = false;
  bool has_graph() const { return !graph.ops.empty(); }
};

struct FrameModel {
  int frame = -1;
  std::string function, file;
  std::optional<FrameKind> kind;
  int64_t line = 0;
  std::vector<CompileModel> compiles;
  std::string place() const { return file + ":" + std::to_string(line); }
};

struct BreakEffect {  // what a break does to the frame beyond its place
  std::string reason_id, explanation;
  std::vector<std::string> hints;
  friend bool operator==(const BreakEffect&, const BreakEffect&) = default;
};

struct BreakModel {
  std::string reason_id, reason, explanation, file, function, source, resume;
  std::vector<BreakEffect> effects;
  std::vector<int64_t> resume_frames;  // of all frames that met it
  Severity severity = Severity::kWarning;
  std::string cause_id, cause_file;  // of the break that made this one necessary
  int64_t cause_line = 0;
  std::vector<std::string> hints;
  std::vector<CallerModel> stack;  // it is inlined into, nearest first
  int64_t line = 0, column = -1, end_column = -1;
  int64_t hits = 0;  // compiles that met it
  std::vector<std::string> compile_ids;
};

struct SkipModel {
  std::string function, reason_id, station, reason, explanation, file, source;
  Severity severity = Severity::kWarning;
  std::vector<std::string> hints;
  int64_t line = 0, hits = 0;
  std::vector<int64_t> frames;  // closures of one function are frames of their own
};

struct LimitModel {
  std::string function, file, reason_id;
  Severity severity = Severity::kError;
  std::vector<std::string> hints;
  int64_t line = 0, limit = 0;
  std::vector<CauseModel> causes;
};

struct InternalErrorModel {
  std::string function, file, reason_id, step, message, artifact;
  Severity severity = Severity::kError;
  std::vector<std::string> hints;
  int64_t line = 0;
};

struct DuringCompileModel {  // calls that ran in the interpreter meanwhile, by function and reason
  std::string function, file, reason;
  int64_t line = 0, calls = 0, nested = 0;
};

struct ReplayModel {
  std::string graph, function, file, conditions;
  int64_t line = 0, count = 0;
};

struct SymbolModel {
  std::string symbol, source, why;
};

struct HintModel {  // perf_hint: one per place and sentence, with what the newest compile says
  std::string id, title, function, file, sentence, why, evidence, advice;
  int64_t frame = -1, line = 0, bytes = 0;
  double cost_ms = 0;  // per call; 0 not measured
};

struct InjectedFaultModel {  // fault_injected: one per kind and node
  std::string stage, kind, what, at, op, node, graph, function, file;
  int64_t line = 0, count = 0;
};

struct NoteModel {  // cache_trouble
  std::string path, message;
};

enum class Names : uint8_t { kAsTheyAre, kForLines };

class TraceModel {
 public:
  // kForLines: names and sentences are escaped, for texts that are made of lines (see for_lines).
  explicit TraceModel(Names names = Names::kAsTheyAre) : names_(names) {}
  void add(const EventRecord& event);
  // Lines that are not events are counted, not fatal: a trace may end in the middle of a line.
  void add_line(std::string_view line);

  std::vector<FrameModel> frames;  // in order of first sight
  std::vector<BreakModel> breaks;
  std::vector<SkipModel> skips;
  std::vector<LimitModel> limits;
  std::vector<InternalErrorModel> internal_errors;
  std::vector<ReplayModel> replays;
  std::vector<InjectedFaultModel> injected_faults;
  std::vector<DuringCompileModel> during_compile;
  std::vector<SymbolModel> symbols;
  std::vector<HintModel> hints;
  std::vector<NoteModel> cache_troubles;
  int unreadable_lines = 0;

  const FrameModel* find_frame(int frame) const;

 private:
  FrameModel& frame_of(const EventRecord& event);
  CompileModel& compile_of(const EventRecord& event);
  void add_break(const EventRecord& event);
  void add_skip(const EventRecord& event);
  void add_compile_part(const EventRecord& event);
  void add_trouble(const EventRecord& event);
  void add_hint(const EventRecord& event);
  void add_injected_fault(const EventRecord& event);
  void add_calls_during_compile(const EventRecord& event);

  Names names_;
};

}  // namespace suture::toolbox
