#include "trace/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/files.h"
#include "base/json_writer.h"

namespace suture {
namespace {

std::string file_name(int pid) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y_%m_%d_%H_%M_%S", &local);
  return std::string("suture_trace_") + stamp + "-pid_" + std::to_string(pid) + ".jsonl";
}

}  // namespace

uint64_t TraceFile::events(bool with_assembly) {
  const uint64_t all = ~event_bit(EventId::kGuardCode);
  return with_assembly ? all : all & ~event_bit(EventId::kKernelAssembly);
}

void TraceFile::write(const Event& event) {
  if (broken_) return;
  if ((file_ < 0 || pid_ != getpid()) && !open()) return;
  if (append(to_json_line(event))) ++events_;
}

bool TraceFile::open() {
  close();  // in a child: the parent's file
  pid_ = getpid();
  if (const int error = make_directories(directory_)) return give_up(directory_, error), false;
  path_ = directory_ + "/" + file_name(pid_);
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  events_ = 0;
  if (file_ < 0) return give_up(path_, errno), false;
  bytes_ =
      lseek(file_, 0, SEEK_END);  // a trace that was stopped and started within a second goes on in its file
  JsonWriter json;
  json.begin_object().field("schema", kEventSchemaVersion);
  for (const auto& [name, value] : facts_) json.field(name, value);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  json.field("pid", pid_).field("time", std::chrono::duration<double>(now).count()).end_object();
  return append(json.text());
}

bool TraceFile::append(std::string line) {
  line += '\n';
  if (const int error = write_all(file_, line)) {
    if (ftruncate(file_, bytes_) != 0) errno = error;  // readers pass over half a line
    return give_up(path_, error), false;
  }
  bytes_ += static_cast<int64_t>(line.size());
  return true;
}

std::string TraceFile::consequence() const {
  if (events_ == 0) return "events are not traced";
  return "the trace ends here: the file holds the first " + std::to_string(events_) +
         (events_ == 1 ? " event" : " events") + " of this process, and nothing of what follows";
}

void TraceFile::give_up(const std::string& what, int error) {
  broken_ = true;
  close();
  on_trouble_(what + ": " + std::strerror(error) + "; " + consequence());
}

void TraceFile::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace suture
