// Write-ahead records, as `suture minify --last` reads them.
#include "base/ring_file.h"
#include "bindings/core_module.h"
#include "driver/write_ahead.h"

namespace suture {
namespace {

nb::dict read_record_file(const std::string& path) {
  const RingContents contents = read_ring_file(path);
  nb::list records;
  for (const RingRecord& record : contents.records) {
    nb::dict row;
    row["serial"] = record.serial;
    row["began"] = static_cast<double>(record.began_ns) / 1e9;
    row["open"] = record.open;
    row["facts"] = text(record.facts);
    row["data_offset"] = record.data_offset;
    row["data_bytes"] = record.data_bytes;
    records.append(row);
  }
  nb::dict result;
  result["problem"] = text(contents.problem);
  result["pid"] = contents.pid;
  result["alive"] = contents.alive;
  result["about"] = text(contents.about_process);
  result["records"] = records;
  return result;
}

}  // namespace

void bind_records(nb::module_& module) {
  module.def("record_directory", [] { return record_directory(compiler()); });
  module.def("record_files", [](const std::string& directory) { return ring_files(directory); });
  module.def("read_record_file", &read_record_file);
  module.def("remove_records", [] { return sweep_ring_files(record_directory(compiler()), 0); });
  module.def("record_state", [] {
    RingFile* file = compiler().records();
    return file ? nb::make_tuple(text(file->path()), text(file->trouble())) : nb::make_tuple("", "");
  });
}

}  // namespace suture
