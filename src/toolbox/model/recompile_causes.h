// Why entries refused a call, as events of kind recompile and recompile_limit tell it.
#pragma once

#include <string>
#include <vector>

#include "toolbox/model/event_record.h"

namespace suture::toolbox {

// One entry that refused a call.
struct CauseModel {
  std::string entry, kind, source;
  std::string subject;  // what the guard says of its source: "array 'x' size mismatch at index 0"
  std::string expected, actual;
  std::string place;     // file:line that made the guard
  std::string passed;    // "12 of 13" guards of the entry hold
  std::string action;    // what stops it
  std::string sentence;  // "0/0: array 'x' size mismatch at index 0. expected 32, actual 48"
};

// `sentences`: the field that holds one sentence per entry. Events of older writers have only those.
std::vector<CauseModel> read_causes(const EventRecord& event, const char* sentences);

// Entries that refuse a call for the same guard become one line:
//   array 'x' rank mismatch. expected 1, 2, 3, actual 4 (entries 0/0, 0/1, 0/2)
std::vector<std::string> grouped_sentences(const std::vector<CauseModel>& causes);

// Each action once, in order.
std::vector<std::string> distinct_actions(const std::vector<CauseModel>& causes);

}  // namespace suture::toolbox
