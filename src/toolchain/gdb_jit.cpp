// The names and the layout are gdb's ("JIT Compilation Interface" in its manual): it looks the two symbols up in every
// loaded file, so that this library and an LLVM in the same process do not get in each other's way. "protected": visible, and
// never replaced by those of another library.
#include "toolchain/gdb_jit.h"

#include <cstdint>
#include <mutex>

extern "C" {

struct SutureJitEntry {
  SutureJitEntry* next;
  SutureJitEntry* previous;
  const char* object;
  uint64_t object_size;
};

struct SutureJitDescriptor {
  uint32_t version;
  uint32_t action;
  SutureJitEntry* relevant;
  SutureJitEntry* first;
};

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are gdb's
[[gnu::visibility("protected"), gnu::noinline, gnu::used]] void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
[[gnu::visibility("protected"), gnu::used]] SutureJitDescriptor __jit_debug_descriptor = {1, 0, nullptr,
                                                                                          nullptr};
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace suture {
namespace {

enum Action : uint32_t { kNothing = 0, kRegister = 1, kUnregister = 2 };

std::mutex& list_mutex() {
  static std::mutex mutex;
  return mutex;
}

void tell(SutureJitEntry& entry, Action action) {
  __jit_debug_descriptor.relevant = &entry;
  __jit_debug_descriptor.action = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.action = kNothing;
  __jit_debug_descriptor.relevant = nullptr;
}

}  // namespace

struct GdbObject::Entry {
  std::string object;
  SutureJitEntry link{};
};

GdbObject::GdbObject(std::string object)
    : entry_(std::make_unique<Entry>(Entry{.object = std::move(object)})) {
  const std::lock_guard lock(list_mutex());
  SutureJitEntry& link = entry_->link;
  link = {__jit_debug_descriptor.first, nullptr, entry_->object.data(), entry_->object.size()};
  if (link.next) link.next->previous = &link;
  __jit_debug_descriptor.first = &link;
  tell(link, kRegister);
}

GdbObject::~GdbObject() {
  const std::lock_guard lock(list_mutex());
  SutureJitEntry& link = entry_->link;
  (link.previous ? link.previous->next : __jit_debug_descriptor.first) = link.next;
  if (link.next) link.next->previous = link.previous;
  tell(link, kUnregister);
}

}  // namespace suture
