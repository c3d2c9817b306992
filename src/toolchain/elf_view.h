// ElfView: a relocatable ELF x86-64 object in memory. Every offset is checked; nothing is copied.
#pragma once

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace suture {

class ElfView {
 public:
  // kUnsupported, with the reason, for what is no such object or has not one symbol table. `object` must outlive the view.
  static Result<ElfView> read(std::string_view object);

  // One item of a table in the object; the object need not be aligned.
  template <class T>
  std::optional<T> item(uint64_t offset) const {
    if (offset > object_.size() || object_.size() - offset < sizeof(T)) return std::nullopt;
    T item;
    std::memcpy(&item, object_.data() + offset, sizeof(T));
    return item;
  }
  std::optional<std::string_view> content(const Elf64_Shdr& section) const;
  std::optional<std::string_view> text_at(const Elf64_Shdr& table, uint64_t offset) const;
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name_of(const Elf64_Shdr& section) const;  // "" when there is none
  const Elf64_Shdr* section_named(std::string_view name) const;
  const Elf64_Shdr& symbol_table() const { return sections_[symbols_]; }
  size_t symbol_count() const { return symbol_table().sh_size / sizeof(Elf64_Sym); }
  std::optional<Elf64_Sym> symbol(size_t index) const;
  std::optional<std::string_view> name_of(const Elf64_Sym& symbol) const;
  size_t header_offset(size_t section) const { return section_table_ + section * sizeof(Elf64_Shdr); }

 private:
  std::string_view object_;
  std::vector<Elf64_Shdr> sections_;
  size_t names_ = 0, symbols_ = 0;  // sections
  size_t section_table_ = 0;        // offset
};

}  // namespace suture
