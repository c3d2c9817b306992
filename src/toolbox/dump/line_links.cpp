#include "toolbox/dump/line_links.h"

#include <algorithm>
#include <charconv>

namespace suture::toolbox {
namespace {

constexpr size_t kMostFiles = 1000, kMostPlaces = 100000;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void LineLinks::learn(const EventRecord& event) {
  const auto add = [&](std::string file) {
    if (!file.empty() && files_.size() < kMostFiles) files_.insert(std::move(file));
  };
  add(event.str("file"));
  for (const char* field : {"op_lines", "lines"})
    for (const std::string& place : event.list(field)) {
      const size_t colon = place.rfind(':');
      if (colon != std::string::npos) add(place.substr(0, colon));
    }
}

// The one file that ends like that.
const std::string* LineLinks::file_named(std::string_view written) const {
  const std::string* found = nullptr;
  for (const std::string& file : files_) {
    if (file == written) return &file;
    if (base_name(file) != written) continue;
    if (found) return nullptr;
    found = &file;
  }
  return found;
}

void LineLinks::scan(const std::string& name, std::string_view text) {
  for (auto& [place, lines] : places_) lines.erase(name);
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    for (size_t colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
      if (colon == 0 || colon + 1 >= line.size() || !is_digit(line[colon + 1])) continue;
      int64_t program_line = 0;
      std::from_chars(line.data() + colon + 1, line.data() + line.size(), program_line);
      // A name may hold blanks: the longest that a file has counts.
      const std::string* file = nullptr;
      for (const std::string& each : files_) {
        for (const std::string_view written : {std::string_view(each), base_name(each)}) {
          if (written.size() > colon || line.substr(colon - written.size(), written.size()) != written)
            continue;
          if (!file || each.size() > file->size()) file = file_named(written);
        }
      }
      if (!file || places_.size() >= kMostPlaces) continue;
      std::vector<int64_t>& lines = places_[{*file, program_line}][name];
      if (lines.empty() || lines.back() != number) lines.push_back(number);
    }
  }
  std::erase_if(places_, [](const auto& place) { return place.second.empty(); });
}

}  // namespace suture::toolbox
