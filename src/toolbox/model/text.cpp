// Columns are UTF-8 byte offsets (as in code objects); carets are placed by display width, so that they stand
// under the expression for accented and wide characters too. Tabs are repeated in the caret line.
#include "toolbox/model/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/escaped_text.h"
#include "base/source_line.h"
#include "base/utf8.h"

namespace suture::toolbox {
namespace {

// Columns a terminal gives to a character: 0 for combining marks, 2 for East Asian wide forms and emoji.
int display_width(uint32_t point) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range kZero[] = {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
  static constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0xA4CF},
                                    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},  {0xFE30, 0xFE6F},
                                    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                                    {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  auto inside = [&](const Range& range) { return point >= range.first && point <= range.last; };
  if (std::any_of(std::begin(kZero), std::end(kZero), inside)) return 0;
  return std::any_of(std::begin(kWide), std::end(kWide), inside) ? 2 : 1;
}

std::string caret_line(std::string_view source, size_t column, size_t end_column) {
  std::string out;
  for (size_t i = 0; i < source.size() && i < end_column;) {
    size_t length = std::max<size_t>(1, utf8_sequence(source.substr(i)));
    bool marked = i >= column;
    if (source[i] == '\t') {
      out += marked ? '^' : '\t';
    } else {
      int width =
          utf8_sequence(source.substr(i)) ? display_width(utf8_code_point(source.substr(i, length))) : 1;
      out.append(static_cast<size_t>(width), marked ? '^' : ' ');
    }
    i += length;
  }
  return out;
}

constexpr size_t kLongestQuote = 240;  // bytes

size_t character_start(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return std::min(at, text.size());
}

// A window of a very long line, around the column.
std::string quote_part(std::string source, int64_t line, int64_t column, int64_t end_column) {
  const auto wanted = static_cast<size_t>(std::max<int64_t>(column, 0));
  const size_t begin = wanted < kLongestQuote / 2 || wanted >= source.size()
                           ? 0
                           : character_start(source, wanted - kLongestQuote / 2);
  const size_t end = character_start(source, std::min(source.size(), begin + kLongestQuote - 6));
  const std::string lead = begin > 0 ? "..." : "";
  const std::string part = lead + source.substr(begin, end - begin) + (end < source.size() ? "..." : "");
  const auto moved = static_cast<int64_t>(lead.size()) - static_cast<int64_t>(begin);
  const int64_t last = std::min<int64_t>(end_column, static_cast<int64_t>(end));
  return quote_source([&](const std::string&, int) { return part; }, "", line,
                      column < 0 ? -1 : column + moved, last > column ? last + moved : -1);
}

}  // namespace

std::string indent(std::string_view text, std::string_view prefix) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string out;
  while (true) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty()) out += fmt::format("{}{}", prefix, line);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string count_of(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string grouped(double amount) {
  if (amount < 1000) return fmt::format("{:.4g}", amount);
  std::string digits = fmt::format("{:.0f}", amount);
  for (size_t end = digits.size(); end > 3;) digits.insert(end -= 3, ",");
  return digits;
}

std::string duration(double ms) {
  if (ms >= 1000) return fmt::format("{:.2f} s", ms / 1000);
  if (ms >= 0.1) return fmt::format("{:.1f} ms", ms);
  return fmt::format("{:.2f} us", ms * 1000);
}

std::string counted_list(std::string_view comma_list) {
  std::vector<std::pair<std::string_view, int>> items;
  while (!comma_list.empty()) {
    const size_t comma = std::min(comma_list.find(','), comma_list.size());
    std::string_view item = comma_list.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    auto known = std::ranges::find(items, item, &std::pair<std::string_view, int>::first);
    if (known != items.end())
      ++known->second;
    else if (!item.empty())
      items.emplace_back(item, 1);
    comma_list.remove_prefix(std::min(comma + 1, comma_list.size()));
  }
  std::string out;
  for (const auto& [item, count] : items)
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", item, count > 1 ? fmt::format(" x{}", count) : "");
  return out;
}

std::string place(const std::string& file, int64_t line) { return fmt::format("{}:{}", file, line); }

std::string quote_source(const SourceLine& source_line, const std::string& file, int64_t line, int64_t column,
                         int64_t end_column) {
  if (!source_line || line <= 0) return "";
  std::string source = source_line(file, static_cast<int>(line));
  while (!source.empty() && (source.back() == '\n' || source.back() == '\r' || source.back() == ' '))
    source.pop_back();
  if (source.empty()) return "";
  if (source.size() > kLongestQuote) return quote_part(std::move(source), line, column, end_column);
  if (source == kChangedSource) column = -1;  // nothing of that line stands here
  std::string number = std::to_string(line);
  std::string out = fmt::format("{:>6} | {}", number, escaped_text(source));
  if (column < 0 || static_cast<size_t>(column) >= source.size()) return out;
  // The end lies on a later line when the expression spans several: mark up to the end of this one.
  size_t end = end_column > column ? static_cast<size_t>(end_column) : source.size();
  return out + fmt::format("\n{:>6} | {}", "", caret_line(source, static_cast<size_t>(column), end));
}

}  // namespace suture::toolbox
