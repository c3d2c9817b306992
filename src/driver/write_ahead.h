// The write-ahead record: what this process is about to do with a graph, written before it does it.
//
// Why
//   A kernel that crashes, a compiler that aborts, a hang that ends with a kill and a process that the kernel stops for want of
//   memory leave no exception and run no handler. What they were doing is in the process's ring file (base/ring_file.h), and
//   `suture minify --last` makes a file of it that reproduces the failure.
// What is written (option record)
//   on-failure  every compile, and the first run of a graph for each combination of shapes and strides, up to kMostSignatures:
//               a graph that ran with that many is believed
//   always      every run: for failures that depend on values
//   off         nothing
//   A record holds the graph's text, how it was compiled, and the inputs of the call; of arrays beyond the limits only the range
//   of a sample, from which data like it is made.
// Invariants
//   - Runs no user code, and costs a call that has nothing new nothing but a test.
//   - Trouble ends the recording, never the call.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/ring_file.h"
#include "capture/capture.h"
#include "driver/compile_context.h"
#include "runtime/compiled_graph.h"

namespace suture {

class Compiler;

// A record that is open until this object goes away.
class OpenRecord {
 public:
  OpenRecord() = default;
  OpenRecord(RingFile* file, RingFile::Ticket ticket) : file_(file), ticket_(ticket) {}
  OpenRecord(OpenRecord&& other) noexcept
      : file_(std::exchange(other.file_, nullptr)), ticket_(other.ticket_) {}
  OpenRecord(const OpenRecord&) = delete;
  ~OpenRecord() {
    if (file_) file_->end(ticket_);
  }

 private:
  RingFile* file_ = nullptr;
  RingFile::Ticket ticket_;
};

// What stays the same from record to record of one graph; null when nothing is recorded.
struct RecordedGraph;
std::shared_ptr<const RecordedGraph> recorded_graph(const Capture& capture,
                                                    std::vector<NativeGraph::InputBinding> bindings,
                                                    Compiler& compiler, const CompileContext& ctx);

// `inputs`: what the graph's inputs hold in this call; empty when one of them is not there yet.
[[nodiscard]] OpenRecord record_compile(const RecordedGraph* graph, std::span<const PyRef> inputs,
                                        Compiler& compiler);
// From now on, runs of `compiled_graph` are recorded.
void record_runs(PyView compiled_graph, std::shared_ptr<const RecordedGraph> graph, Compiler& compiler);

// Where the files of this user's processes are; "" when the cache is off.
std::string record_directory(const Compiler& compiler);

}  // namespace suture
