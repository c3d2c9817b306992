// LineLinks: where a line of the program occurs in the files of its compile.
//
// Every text that is made from the program names places as FILE:LINE, the file with or without its directories. Those of
// files that the compile's events name are found here; a name without directories that two such files share says
// nothing and is left out.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "toolbox/model/event_record.h"

namespace suture::toolbox {

class LineLinks {
 public:
  using Place = std::pair<std::string, int64_t>;              // file and line of the program
  using Lines = std::map<std::string, std::vector<int64_t>>;  // name of a dump file -> its lines, ascending

  // Learns the program's files that the event names.
  void learn(const EventRecord& event);
  // What `text`, now the content of the dump file `name`, says about places.
  void scan(const std::string& name, std::string_view text);
  // In the order of the program's lines.
  const std::map<Place, Lines>& places() const { return places_; }

 private:
  const std::string* file_named(std::string_view written) const;

  std::set<std::string> files_;
  std::map<Place, Lines> places_;
};

}  // namespace suture::toolbox
