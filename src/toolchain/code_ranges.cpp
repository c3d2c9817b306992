#include "toolchain/code_ranges.h"

#include <algorithm>

#include "toolchain/elf_view.h"

namespace suture {
namespace {

uint64_t address_of(const Elf64_Sym& symbol, std::span<const uint64_t> sections) {
  const bool loaded = symbol.st_shndx < sections.size() && sections[symbol.st_shndx] != 0;
  return loaded ? sections[symbol.st_shndx] + symbol.st_value : 0;
}

// Offset in the section of line tables -> the address that belongs there.
std::map<uint64_t, uint64_t> relocated(const ElfView& elf, const Elf64_Shdr& relocations,
                                       std::span<const uint64_t> sections) {
  std::map<uint64_t, uint64_t> out;
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= relocations.sh_size; at += sizeof(Elf64_Rela)) {
    const auto entry = elf.item<Elf64_Rela>(relocations.sh_offset + at);
    if (!entry) break;
    const auto symbol = elf.symbol(ELF64_R_SYM(entry->r_info));
    if (!symbol || ELF64_R_TYPE(entry->r_info) != R_X86_64_64) continue;
    out[entry->r_offset] = address_of(*symbol, sections) + static_cast<uint64_t>(entry->r_addend);
  }
  return out;
}

std::vector<LineRow> line_rows(const ElfView& elf, std::span<const uint64_t> sections) {
  const Elf64_Shdr* table = elf.section_named(".debug_line");
  const Elf64_Shdr* relocations = elf.section_named(".rela.debug_line");
  const auto bytes = table ? elf.content(*table) : std::nullopt;
  if (!bytes) return {};
  return read_line_rows(
      *bytes, relocations ? relocated(elf, *relocations, sections) : std::map<uint64_t, uint64_t>());
}

}  // namespace

std::vector<CodeRange> code_ranges(std::string_view object, std::span<const uint64_t> sections) {
  std::vector<CodeRange> out;
  const auto elf = ElfView::read(object);
  if (!elf.ok() || sections.size() != elf->sections().size()) return out;
  for (size_t i = 1; i < elf->symbol_count(); ++i) {
    const auto symbol = elf->symbol(i);
    if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0) continue;
    const uint64_t address = address_of(*symbol, sections);
    if (address)
      out.push_back({std::string(elf->name_of(*symbol).value_or("")), address, symbol->st_size, {}});
  }
  for (LineRow& row : line_rows(*elf, sections)) {
    for (CodeRange& range : out)
      if (!row.ends && row.line > 0 && row.address >= range.address &&
          row.address - range.address < range.size)
        range.lines.push_back(row);
  }
  for (CodeRange& range : out) std::ranges::stable_sort(range.lines, {}, &LineRow::address);
  return out;
}

}  // namespace suture
