// The table of dump files and the functions that make their texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "toolbox/dump/compile_dump.h"

namespace suture::toolbox {

struct DumpFile {
  std::string_view id, name;
  std::vector<EventId> events;
  std::string_view doc;
  std::string (*write)(const CompileDump&);
  bool linked;  // lines of the program that it names stand in the index
};
const std::vector<DumpFile>& all_dump_files();

// "" = no file.
#define SUTURE_DUMP_FILE(id, ...) std::string write_##id(const CompileDump& dump);
#include "toolbox/dump/dump_files.def"

}  // namespace suture::toolbox
