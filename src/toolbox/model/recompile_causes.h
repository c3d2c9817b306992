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
  std::string place, place_source;  // file:line that made the guard, and its text
  std::string assigned;             // guards about an object: "file:line, file:line" that assign it
  std::string passed;               // "12 of 13" guards of the entry hold
  std::string action;               // what stops it
  std::string sentence;             // "0/0: array 'x' size mismatch at index 0. expected 32, actual 48"
};

// `sentences`: the field that holds one sentence per entry. Events of older writers have only those.
std::vector<CauseModel> read_causes(const EventRecord& event, const char* sentences);

// Entries that refuse a call for the same guard become one line:
//   array 'x' rank mismatch. expected 1, 2, 3, actual 4 (entries 0/0, 0/1, 0/2)
std::vector<std::string> grouped_sentences(const std::vector<CauseModel>& causes);

// "assigned at prog.py:3", "assigned at 2 places: prog.py:3, prog.py:9"; empty when nothing is known.
std::string assigned_text(const CauseModel& cause);

// What is known beside the sentence: where the guard comes from, how many others hold, where its object is assigned.
std::string details_text(const CauseModel& cause);

// Each action once, in order.
std::vector<std::string> distinct_actions(const std::vector<CauseModel>& causes);

}  // namespace suture::toolbox
