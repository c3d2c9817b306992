// Definitions are blocks of text with two empty lines between them; a block belongs to the names that its lines begin with.
#include "guard/guard_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cpython/numpy_api.h"
#include "ops/dtype.h"

namespace suture {
namespace {

constexpr std::string_view kText =
#include "guard/guard_support.inc"
    ;

struct Block {
  std::string text;
  std::vector<std::string> names;
};

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string name_at(std::string_view text) {
  return std::string(
      text.substr(0, static_cast<size_t>(std::ranges::find_if_not(text, in_name) - text.begin())));
}

std::set<std::string> names_in(std::string_view text) {
  std::set<std::string> names;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!in_name(text[at])) continue;
    std::string name = name_at(text.substr(at));
    at += name.size();
    names.insert(std::move(name));
  }
  return names;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(separator)) != std::string_view::npos;
       text.remove_prefix(end + separator.size()))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

std::string with(std::string text, std::string_view key, const std::string& value) {
  if (const size_t at = text.find(key); at != std::string::npos) text.replace(at, key.size(), value);
  return text;
}

std::string filled(std::string_view block) {
  std::string dtypes;
  for (const DTypeInfo& dtype : all_dtypes())
    dtypes += fmt::format("{}\"{}\"", dtypes.empty() ? "" : ", ", dtype.numpy_name);
  return with(with(std::string(block), "@KERNEL_DTYPES@", dtypes), "@OVERLAP_WORK@",
              std::to_string(kMaxOverlapWork));
}

Block block_of(std::string_view text) {
  while (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  Block block{filled(text), {}};
  for (std::string_view line : split(text, "\n")) {
    for (const std::string_view keyword : {"import ", "def ", "class "})
      if (line.starts_with(keyword)) line.remove_prefix(keyword.size());
    if (std::string name = name_at(line); !name.empty()) block.names.push_back(std::move(name));
  }
  return block;
}

// One block per import, then the definitions.
std::vector<Block> all_blocks() {
  std::vector<Block> blocks;
  for (const std::string_view part : split(kText, "\n\n\n")) {
    if (part.find("import ") > 1) {
      blocks.push_back(block_of(part));
      continue;
    }
    for (const std::string_view line : split(part, "\n"))
      if (!line.empty()) blocks.push_back(block_of(line));
  }
  return blocks;
}

bool is_import(const Block& block) { return block.text.starts_with("import "); }

const std::vector<Block>& blocks_of_text() {
  static const std::vector<Block> blocks = all_blocks();
  return blocks;
}

}  // namespace

bool is_guard_support_name(const std::string& name) {
  return std::ranges::any_of(blocks_of_text(), [&](const Block& block) {
    return std::ranges::find(block.names, name) != block.names.end();
  });
}

GuardSupport guard_support_for(std::string_view code) {
  const std::vector<Block>& blocks = blocks_of_text();
  std::set<std::string> wanted = names_in(code);
  std::vector<bool> taken(blocks.size());
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (taken[i] ||
          std::ranges::none_of(blocks[i].names, [&](const auto& name) { return wanted.contains(name); }))
        continue;
      taken[i] = grown = true;
      if (!is_import(blocks[i])) wanted.merge(names_in(blocks[i].text));
    }
  }
  GuardSupport support;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!taken[i]) continue;
    if (is_import(blocks[i]))
      support.modules.insert(blocks[i].names.front());
    else
      support.definitions += blocks[i].text + "\n\n\n";
  }
  return support;
}

}  // namespace suture
