#include "toolchain/debug_text.h"

#include <fmt/format.h>

namespace suture {
namespace {

// A file name as a C++ string literal: names may hold any byte but NUL.
std::string quoted(std::string_view file) {
  std::string text = "\"";
  for (unsigned char c : file) {
    if (c == '"' || c == '\\') text += '\\';
    if (c < ' ' || c == 0x7f)
      text += fmt::format("\\{:03o}", c);
    else
      text += static_cast<char>(c);
  }
  return text + '"';
}

}  // namespace

std::string with_line_directives(std::string_view cpp, const std::vector<UserLine>& lines) {
  std::string text;
  const UserLine* place = nullptr;
  auto next = lines.begin();
  for (int number = 1; !cpp.empty(); ++number) {
    const size_t length = cpp.find('\n');
    const std::string_view line = cpp.substr(0, length);
    cpp.remove_prefix(length == std::string_view::npos ? cpp.size() : length + 1);
    while (next != lines.end() && next->line <= number) place = &*next++;
    if (line.empty()) place = nullptr;
    const UserLine* shown = place ? place : next != lines.end() ? &*next : nullptr;
    if (shown && !line.empty()) text += fmt::format("#line {} {}\n", shown->user_line, quoted(shown->file));
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace suture
