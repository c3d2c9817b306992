#include "toolbox/logs/trace_match.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "bytecode/continuation.h"

namespace suture::toolbox {
namespace {

// Directories and the name at the end that are the same, counted from the end.
size_t common_parts(std::string_view a, std::string_view b) {
  size_t count = 0;
  while (!a.empty() && !b.empty()) {
    const size_t left = a.rfind('/') + 1, right = b.rfind('/') + 1;  // 0 without a slash
    if (a.substr(left) != b.substr(right)) break;
    ++count;
    a = a.substr(0, left ? left - 1 : 0);
    b = b.substr(0, right ? right - 1 : 0);
  }
  return count;
}

}  // namespace

FileNames paired_files(const std::set<std::string>& before, const std::set<std::string>& after) {
  struct Pair {
    size_t common;
    std::string before, after;
  };
  std::vector<Pair> pairs;
  for (const std::string& old : before) {
    if (after.contains(old)) continue;
    for (const std::string& now : after)
      if (const size_t common = before.contains(now) ? 0 : common_parts(old, now))
        pairs.push_back({common, old, now});
  }
  std::ranges::stable_sort(pairs, std::greater(), &Pair::common);
  FileNames names;
  std::set<std::string> taken;
  for (const Pair& pair : pairs)
    if (!taken.contains(pair.before) && names.try_emplace(pair.after, pair.before).second)
      taken.insert(pair.before);
  return names;
}

std::string name_in(const FileNames& names, const std::string& file) {
  const auto found = names.find(file);
  return found == names.end() ? file : found->second;
}

std::string without_places(const FileNames& names, std::string text) {
  for (const auto& [file, name] : names)
    for (size_t at = text.find(file); at != std::string::npos; at = text.find(file, at + name.size()))
      text.replace(at, file.size(), name);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto run_of = [&](size_t from, std::string_view characters) {
      const size_t end = text.find_first_not_of(characters, from);
      return (end == std::string::npos ? text.size() : end) - from;
    };
    const bool after_file = text[i] == ':' && i >= 3 && text.compare(i - 3, 3, ".py") == 0;
    if (after_file && run_of(i + 1, "0123456789") > 0) {
      i += 1 + run_of(i + 1, "0123456789");
    } else if (text.compare(i, 2, "0x") == 0 && run_of(i + 2, "0123456789abcdef") >= 6) {
      i += 2 + run_of(i + 2, "0123456789abcdef");
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string graph_contents(const std::string& text) {
  std::string out;
  bool quoted = false, place = false;
  for (size_t i = std::min(text.find('\n'), text.size()); i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') quoted = place = false;
    if (!quoted && !place && text.compare(i, 4, " @ \"") == 0) place = true;
    if (!place) out += c;
    if (quoted && c == '\\' && i + 1 < text.size()) {
      if (!place) out += text[i + 1];
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    }
  }
  return out;
}

std::string kernel_contents(const std::string& code) {
  std::string out;
  for (size_t begin = 0; begin < code.size();) {
    const size_t end = std::min(code.find('\n', begin), code.size());
    std::string_view line = std::string_view(code).substr(begin, end - begin);
    line = line.substr(0, line.find("//"));
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    if (!line.empty()) out.append(line).append("\n");
    begin = end + 1;
  }
  return out;
}

std::string function_key(const std::string& function) {
  for (const std::string_view prefix : {kResumeName, kIterationName})
    if (const size_t at = function.find(prefix); at != std::string::npos)
      return function.substr(0, at + prefix.size());
  return function;
}

}  // namespace suture::toolbox
