// The callers that the function of a break is inlined into, for people: their own lines in full, libraries folded.
#pragma once

#include <string>
#include <vector>

#include "toolbox/model/event_record.h"

namespace suture::toolbox {

struct CallerModel {
  std::string place;   // "prog.py:12 in f"
  std::string source;  // text of that line, empty when it is not at hand
};

// Of the place of a break, nearest first.
std::vector<CallerModel> read_callers(const EventRecord& event);

// Of a break that another one made necessary: that one, and the calls between it and the place, nearest first.
std::vector<CallerModel> read_cause(const EventRecord& event);

// Lines of a listing. Callers in libraries that stand next to each other, and those of the interpreter itself, are one
// line that counts them:
//   called from prog.py:12 in f:  return scale(x)
//   2 callers in libraries (lib/python3.11/functools.py:981 in wrapper, ...)
std::vector<std::string> call_chain(const std::vector<CallerModel>& callers);

}  // namespace suture::toolbox
