#include "toolchain/object_loader.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "toolchain/elf_view.h"
#include "toolchain/gdb_jit.h"
#include "toolchain/kernel_imports.h"

namespace suture {
namespace {

constexpr size_t kStubBytes = 16;  // jmp *slot(%rip), padded
constexpr size_t kSlotBytes = 8;

Error refused(std::string why) { return Error::unsupported("toolchain", "object: " + std::move(why)); }

size_t rounded(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

class Mapping {
 public:
  explicit Mapping(size_t size) : size_(size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (base_) munmap(base_, size_);
  }
  unsigned char* base() const { return base_; }

 private:
  unsigned char* base_ = nullptr;
  size_t size_;
};

class LoadedObject : public KernelLibrary {
 public:
  suture_kernel_fn find(const std::string& symbol) const override {
    auto found = functions.find(symbol);
    return found == functions.end() ? nullptr : found->second;
  }
  std::unique_ptr<Mapping> memory;
  std::map<std::string, suture_kernel_fn> functions;
  std::unique_ptr<GdbObject> debugger;  // of objects with line tables; forgotten before the memory goes
};

// The pages of one protection.
struct Segment {
  size_t begin = 0, end = 0;
  int protection = 0;
};

class Loader {
 public:
  explicit Loader(std::string_view object) : object_(object) {}

  Result<std::unique_ptr<KernelLibrary>> load(const std::vector<std::string>& wanted) {
    SUTURE_TRY(elf, ElfView::read(object_));
    elf_ = std::move(elf);
    SUTURE_TRY_VOID(lay_out());
    SUTURE_TRY_VOID(copy_sections());
    SUTURE_TRY_VOID(resolve_symbols());
    for (const Elf64_Shdr& section : elf_.sections())
      if (section.sh_type == SHT_RELA) SUTURE_TRY_VOID(relocate(section));
    SUTURE_TRY_VOID(protect());
    return library(wanted);
  }

 private:
  // Unwind tables are of no use to functions that neither throw nor are thrown through.
  bool is_loaded(const Elf64_Shdr& section) const {
    return (section.sh_flags & SHF_ALLOC) && section.sh_size > 0 && elf_.name_of(section) != ".eh_frame";
  }

  Status lay_out() {
    place_.assign(elf_.sections().size(), std::nullopt);
    for (const Elf64_Shdr& section : elf_.sections()) {
      const bool known = section.sh_type == SHT_PROGBITS || section.sh_type == SHT_NOBITS ||
                         section.sh_type == SHT_X86_64_UNWIND;
      if (!is_loaded(section)) continue;
      if (!known || (section.sh_flags & SHF_TLS)) return refused("a section of an unknown kind");
      if ((section.sh_flags & SHF_WRITE) && (section.sh_flags & SHF_EXECINSTR))
        return refused("a section that is writable and executable");
      if (section.sh_addralign > page() || section.sh_size > object_.size() + (size_t{1} << 20))
        return refused("a section too large");
    }
    count_imports();
    add_segment(SHF_EXECINSTR, PROT_READ | PROT_EXEC, imports_ * kStubBytes, stubs_);
    add_segment(0, PROT_READ, (imports_ + elf_.symbol_count()) * kSlotBytes, slots_);
    size_t nothing = 0;
    add_segment(SHF_WRITE, PROT_READ | PROT_WRITE, 0, nothing);
    memory_ = std::make_unique<Mapping>(std::max(size_, page()));
    return memory_->base() ? ok_status() : Status(refused("out of memory"));
  }

  // The sections with `flag`, and `extra` bytes of our own behind them, at `extra_at`.
  void add_segment(uint64_t flag, int protection, size_t extra, size_t& extra_at) {
    constexpr uint64_t kKinds = SHF_EXECINSTR | SHF_WRITE;
    Segment segment{.begin = size_, .end = 0, .protection = protection};
    for (size_t i = 0; i < elf_.sections().size(); ++i) {
      if (!is_loaded(elf_.sections()[i]) || (elf_.sections()[i].sh_flags & kKinds) != flag) continue;
      size_ = rounded(size_, std::max<size_t>(elf_.sections()[i].sh_addralign, 1));
      place_[i] = size_;
      size_ += elf_.sections()[i].sh_size;
    }
    extra_at = size_ = rounded(size_, kStubBytes);
    size_ = rounded(size_ + extra, page());
    segment.end = size_;
    if (segment.end > segment.begin) segments_.push_back(segment);
  }

  static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

  void count_imports() {
    for (size_t i = 1; i < elf_.symbol_count(); ++i) {
      auto symbol = elf_.symbol(i);
      imports_ += symbol && symbol->st_shndx == SHN_UNDEF;
    }
  }

  Status copy_sections() {
    for (size_t i = 0; i < elf_.sections().size(); ++i) {
      if (!place_[i] || elf_.sections()[i].sh_type == SHT_NOBITS) continue;
      auto bytes = elf_.content(elf_.sections()[i]);
      if (!bytes) return refused("section cut short");
      std::memcpy(memory_->base() + *place_[i], bytes->data(), bytes->size());
    }
    return ok_status();
  }

  struct Symbol {
    std::string name;
    uint64_t address = 0;   // 0: in no section that was loaded
    uint64_t callable = 0;  // for calls: the stub of an import
    size_t slot = 0;        // offset of its slot
  };

  Status resolve_symbols() {
    const Elf64_Shdr& table = elf_.symbol_table();
    if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_link >= elf_.sections().size())
      return refused("symbol table of another form");
    size_t stub = stubs_;
    for (size_t i = 0; i < elf_.symbol_count(); ++i) {
      auto entry = elf_.symbol(i);
      auto name = entry ? elf_.name_of(*entry) : std::nullopt;
      if (!name) return refused("symbol table cut short");
      Symbol symbol{.name = std::string(*name), .slot = slots_ + i * kSlotBytes};
      if (i > 0 && entry->st_shndx == SHN_UNDEF) {
        SUTURE_TRY_VOID(import_function(symbol, stub));
        stub += kStubBytes;
      } else if (entry->st_shndx < elf_.sections().size() && place_[entry->st_shndx]) {
        if (entry->st_value > elf_.sections()[entry->st_shndx].sh_size)
          return refused("a symbol outside its section");
        symbol.address = symbol.callable = start() + *place_[entry->st_shndx] + entry->st_value;
      } else if (entry->st_shndx == SHN_COMMON) {
        return refused("a common symbol");
      }
      std::memcpy(memory_->base() + symbol.slot, &symbol.address, sizeof symbol.address);
      symbols_.push_back(std::move(symbol));
    }
    return ok_status();
  }

  Status import_function(Symbol& symbol, size_t stub) {
    void* function = find_kernel_import(symbol.name);
    if (!function) return Error::internal("toolchain", fmt::format("kernels may not call '{}'", symbol.name));
    symbol.address = reinterpret_cast<uint64_t>(function);
    symbol.callable = start() + stub;
    const int64_t distance = static_cast<int64_t>(symbol.slot) - static_cast<int64_t>(stub) - 6;
    const auto near = static_cast<int32_t>(distance);
    constexpr unsigned char kJump[] = {0xFF, 0x25};
    std::memcpy(memory_->base() + stub, kJump, sizeof kJump);
    std::memcpy(memory_->base() + stub + sizeof kJump, &near, sizeof near);
    return ok_status();
  }

  Status relocate(const Elf64_Shdr& section) {
    if (section.sh_info >= elf_.sections().size() || section.sh_entsize != sizeof(Elf64_Rela))
      return refused("relocations of another form");
    if (!place_[section.sh_info]) return ok_status();  // of a section that is not loaded
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela)) {
      auto entry = elf_.item<Elf64_Rela>(section.sh_offset + at);
      if (!entry) return refused("relocations cut short");
      SUTURE_TRY_VOID(apply(*entry, section.sh_info));
    }
    return ok_status();
  }

  Status apply(const Elf64_Rela& entry, size_t section) {
    const auto number = ELF64_R_SYM(entry.r_info);
    if (number >= symbols_.size()) return refused("a relocation against no symbol");
    const Symbol& symbol = symbols_[number];
    const uint64_t place = start() + *place_[section] + entry.r_offset;
    const auto addend = static_cast<uint64_t>(entry.r_addend);
    switch (ELF64_R_TYPE(entry.r_info)) {
      case R_X86_64_64: return write<uint64_t>(entry, section, symbol, symbol.address + addend);
      case R_X86_64_PC64: return write<uint64_t>(entry, section, symbol, symbol.address + addend - place);
      case R_X86_64_PC32: return write<int32_t>(entry, section, symbol, symbol.address + addend - place);
      case R_X86_64_PLT32: return write<int32_t>(entry, section, symbol, symbol.callable + addend - place);
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        return write<int32_t>(entry, section, symbol, start() + symbol.slot + addend - place);
      default: return refused(fmt::format("relocation of type {}", ELF64_R_TYPE(entry.r_info)));
    }
  }

  template <class Field>
  Status write(const Elf64_Rela& entry, size_t section, const Symbol& symbol, uint64_t value) {
    const uint64_t size = elf_.sections()[section].sh_size;
    if (symbol.address == 0) return refused("a relocation against what is not loaded");
    if (entry.r_offset > size || size - entry.r_offset < sizeof(Field))
      return refused("a relocation outside its section");
    const auto narrow = static_cast<Field>(value);
    if (static_cast<int64_t>(value) != static_cast<int64_t>(narrow))
      return refused(fmt::format("'{}' is out of reach", symbol.name));
    std::memcpy(memory_->base() + *place_[section] + entry.r_offset, &narrow, sizeof narrow);
    return ok_status();
  }

  Status protect() {
    for (const Segment& segment : segments_)
      if (mprotect(memory_->base() + segment.begin, segment.end - segment.begin, segment.protection) != 0)
        return refused("memory cannot be made executable");
    return ok_status();
  }

  Result<std::unique_ptr<KernelLibrary>> library(const std::vector<std::string>& wanted) {
    auto loaded = std::make_unique<LoadedObject>();
    for (const std::string& name : wanted) {
      auto found =
          std::ranges::find_if(symbols_, [&](const Symbol& s) { return s.name == name && s.address; });
      if (found == symbols_.end())
        return Error::internal("toolchain", fmt::format("the object has no symbol {}", name));
      loaded->functions[name] = reinterpret_cast<suture_kernel_fn>(found->address);
    }
    for (const Elf64_Shdr& section : elf_.sections())
      if (section.sh_flags & SHF_EXECINSTR) loaded->code_bytes += section.sh_size;
    if (has_line_tables()) loaded->debugger = std::make_unique<GdbObject>(object_with_addresses());
    for (const auto& place : place_) loaded->sections.push_back(place ? start() + *place : 0);
    loaded->memory = std::move(memory_);
    return std::unique_ptr<KernelLibrary>(std::move(loaded));
  }

  bool has_line_tables() const { return elf_.section_named(".debug_line") != nullptr; }

  // A copy whose section headers say where its sections were put.
  std::string object_with_addresses() const {
    std::string copy(object_);
    for (size_t i = 0; i < elf_.sections().size(); ++i) {
      if (!place_[i]) continue;
      const uint64_t address = start() + *place_[i];
      const size_t field = elf_.header_offset(i) + offsetof(Elf64_Shdr, sh_addr);
      std::memcpy(copy.data() + field, &address, sizeof address);
    }
    return copy;
  }

  uint64_t start() const { return reinterpret_cast<uint64_t>(memory_->base()); }

  std::string_view object_;
  ElfView elf_;
  std::vector<std::optional<size_t>> place_;  // of each loaded section, from the start of the mapping
  std::vector<Segment> segments_;
  size_t size_ = 0, imports_ = 0, stubs_ = 0, slots_ = 0;
  std::unique_ptr<Mapping> memory_;
  std::vector<Symbol> symbols_;
};

}  // namespace

Result<std::unique_ptr<KernelLibrary>> load_object(std::string_view object,
                                                   const std::vector<std::string>& symbols) {
#if defined(__x86_64__)
  const auto begin = std::chrono::steady_clock::now();
  SUTURE_TRY(library, Loader(object).load(symbols));
  library->times.link =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return std::move(library);
#else
  return refused("this machine is not x86-64");
#endif
}

}  // namespace suture
