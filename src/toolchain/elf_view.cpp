#include "toolchain/elf_view.h"

#include <algorithm>

namespace suture {

namespace {

Error refused(std::string why) { return Error::unsupported("toolchain", "object: " + std::move(why)); }

bool is_relocatable_x86(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_REL && header.e_machine == EM_X86_64 &&
         header.e_shentsize == sizeof(Elf64_Shdr);
}

}  // namespace

Result<ElfView> ElfView::read(std::string_view object) {
  ElfView view;
  view.object_ = object;
  const auto header = view.item<Elf64_Ehdr>(0);
  if (!header || !is_relocatable_x86(*header)) return refused("not a relocatable x86-64 ELF file");
  for (size_t i = 0; i < header->e_shnum; ++i) {
    const auto section = view.item<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return refused("section table cut short");
    view.sections_.push_back(*section);
  }
  constexpr Elf64_Word kSymbols = SHT_SYMTAB;
  const auto found = std::ranges::find(view.sections_, kSymbols, &Elf64_Shdr::sh_type);
  const bool one = std::ranges::count(view.sections_, kSymbols, &Elf64_Shdr::sh_type) == 1;
  if (!one || header->e_shstrndx >= view.sections_.size()) return refused("no symbol table");
  if (!view.content(*found)) return refused("symbol table cut short");
  view.symbols_ = static_cast<size_t>(found - view.sections_.begin());
  view.names_ = header->e_shstrndx;
  view.section_table_ = header->e_shoff;
  return view;
}

std::optional<std::string_view> ElfView::content(const Elf64_Shdr& section) const {
  if (section.sh_offset > object_.size() || object_.size() - section.sh_offset < section.sh_size)
    return std::nullopt;
  return object_.substr(section.sh_offset, section.sh_size);
}

std::optional<std::string_view> ElfView::text_at(const Elf64_Shdr& table, uint64_t offset) const {
  const auto all = content(table);
  if (!all || offset >= all->size()) return std::nullopt;
  const size_t end = all->find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return all->substr(offset, end - offset);
}

std::string_view ElfView::name_of(const Elf64_Shdr& section) const {
  return text_at(sections_[names_], section.sh_name).value_or("");
}

const Elf64_Shdr* ElfView::section_named(std::string_view name) const {
  const auto found =
      std::ranges::find_if(sections_, [&](const Elf64_Shdr& section) { return name_of(section) == name; });
  return found == sections_.end() ? nullptr : &*found;
}

std::optional<Elf64_Sym> ElfView::symbol(size_t index) const {
  if (index >= symbol_count()) return std::nullopt;
  return item<Elf64_Sym>(symbol_table().sh_offset + index * sizeof(Elf64_Sym));
}

std::optional<std::string_view> ElfView::name_of(const Elf64_Sym& symbol) const {
  if (symbol_table().sh_link >= sections_.size()) return std::nullopt;
  return text_at(sections_[symbol_table().sh_link], symbol.st_name);
}

}  // namespace suture
