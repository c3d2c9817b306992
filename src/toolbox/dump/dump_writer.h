// DumpWriter: events in, files of the debug dump out.
//
//   DIRECTORY/index.html index.json prelude.h run_support.h
//   DIRECTORY/<function>_<frame>_<compile>/<files of dump_files.def>  inputs/*.npy (written by the recorder)
//
// How it works
//   The events of a compile are kept; when one arrives that a file of the table names, the file is written. A crash of the
//   process therefore loses only what had not happened yet. The index is written when a compile ends, and less often the
//   more compiles there are, so that a long run does not spend its time on it; finish() writes it last.
// Invariants
//   - Trouble (a full disk, a directory that vanished) is told once and costs the file, never the caller.
//   - At most `limit` compiles get a directory; later ones are counted in the index.
//   - Only the newest compiles keep their events; files of older ones stay as they are, whatever arrives later.
//   - Memory does not grow with the number of calls.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "toolbox/dump/compile_dump.h"
#include "toolbox/dump/dump_directory.h"
#include "toolbox/dump/line_links.h"

namespace suture::toolbox {

struct DumpSettings {
  std::string prelude;      // of the kernels; "" unknown
  std::string build_flags;  // for output_code.cpp
  std::string facts;        // a JSON object about the process, for the index; "" = {}
  int64_t limit = 1000;
  SourceLine source_line;
  CompileSource compile_source;  // see DecompileOptions::compile
};

struct DumpedFile {
  std::string name, sha256, event, doc;
  int64_t bytes = 0;
};

// How far a compile has come; the last three are ends.
enum class DumpState : uint8_t { kRunning, kCompiled, kSkipped, kFailed };
std::string_view name_of(DumpState state);  // "running", in index.json

struct DumpedCompile {
  CompileDump dump;  // without events once it is old
  std::string directory;
  DumpState state = DumpState::kRunning;
  double ms = 0;
  bool forgotten = false;  // old: later events change nothing
  std::map<std::string, DumpedFile> files;
  LineLinks links;
  std::map<std::string, std::string> missing;  // name of a file that could not be made -> why
};

class DumpWriter {
 public:
  explicit DumpWriter(DumpSettings settings) : settings_(std::move(settings)) {}

  // Makes the directory. "" or why it cannot be used.
  std::string open(const std::string& path);
  // "" or the first trouble, told once.
  std::string add_line(std::string_view line);
  // Name of the compile's directory below the dump, which is made if need be; "" when it gets none.
  std::string directory_of(std::string_view compile_id);
  std::string finish();

 private:
  DumpedCompile* compile_of(const CompileId& id);
  void forget_old_events();
  void learn(DumpedCompile& compile, const EventRecord& event);
  void write_files(DumpedCompile& compile, const EventRecord& event);
  void note_saved_arrays(DumpedCompile& compile);
  void write_index();
  void note(std::string trouble);
  std::string take_trouble();

  DumpSettings settings_;
  DumpDirectory directory_;
  std::vector<std::pair<int, int>> order_;
  std::map<std::pair<int, int>, DumpedCompile> compiles_;
  std::map<std::pair<int, int>, bool> refused_;  // beyond the limit
  std::vector<DumpedFile> shared_;
  size_t forgotten_ = 0;  // of order_
  size_t ended_ = 0, indexed_ = 0;
  std::vector<std::string> troubles_;
  bool told_ = false;
};

// index.html and index.json of the same facts.
struct DumpIndex {
  std::vector<const DumpedCompile*> compiles;
  const std::vector<DumpedFile>& shared;
  const std::vector<std::string>& troubles;
  const SourceLine& source_line;
  std::string facts;
  int64_t not_written = 0;  // compiles beyond the limit
};
std::string index_json(const DumpIndex& index);
std::string index_html(const DumpIndex& index);

}  // namespace suture::toolbox
