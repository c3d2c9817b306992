// Module suture._toolbox. The interface is documented in python/suture/_toolbox.pyi. Loads without the
// compiler.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "base/escaped_text.h"
#include "bindings/toolbox_module.h"
#include "toolbox/clinic/clinic.h"
#include "toolbox/dump/dump_files.h"
#include "toolbox/dump/dump_writer.h"
#include "toolbox/toolbox.h"
#include "toolbox/where/where.h"
#include "toolbox_module.h"

namespace suture::toolbox {
namespace {

std::vector<std::string> lines_of(nb::handle lines) {
  std::vector<std::string> out;
  for (nb::handle line : lines) out.push_back(bytes_of(line));
  return out;
}

RunLines run_of(nb::handle files) {
  RunLines out;
  for (nb::handle lines : files) out.push_back(lines_of(lines));
  return out;
}

// linecache or something like it; a failure there costs a source quote, not the report. Ctrl-C is no failure.
SourceLine source_line(const nb::object& callback) {
  if (callback.is_none()) return nullptr;
  return [callback](const std::string& file, int line) -> std::string {
    try {
      return bytes_of(callback(text(file), line));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      error.discard_as_unraisable("suture source line");
    }
    return "";
  };
}

nb::list render(LogRenderer& renderer, nb::handle line) {
  nb::list out;
  for (LogLine& each : renderer.render(bytes_of(line))) out.append(nb::cast(std::move(each)));
  return out;
}

nb::list finish(LogRenderer& renderer) {
  nb::list out;
  for (LogLine& each : renderer.finish()) out.append(nb::cast(std::move(each)));
  return out;
}

nb::list artifact_table() {
  nb::list table;
  for (const ArtifactInfo& artifact : all_artifacts())
    table.append(nb::make_tuple(text(artifact.name), text(artifact.component), artifact.off_by_default,
                                text(artifact.help)));
  return table;
}

nb::list component_table() {
  nb::list table;
  for (const ComponentInfo& component : all_components())
    table.append(nb::make_tuple(text(component.name), text(component.help)));
  return table;
}

void bind_logs(nb::module_& module) {
  nb::class_<LogSettings>(module, "LogSettings")
      .def_prop_ro("artifacts", &LogSettings::artifacts)
      .def_prop_ro("events", &LogSettings::events)
      .def_prop_ro("help", [](const LogSettings& settings) { return text(settings.help()); })
      .def("level", [](const LogSettings& settings, const std::string& component) {
        return text(level_name(settings.level(component)));
      });
  module.def("parse_logs",
             [](const std::string& settings) { return value_or_raise(parse_log_settings(settings)); });
  module.def("artifact_table", &artifact_table);
  module.def("component_table", &component_table);
  nb::class_<LogLine>(module, "LogLine")
      .def_ro("logger", &LogLine::logger)
      .def_prop_ro("level", [](const LogLine& line) { return text(level_name(line.level)); })
      .def_ro("artifact", &LogLine::artifact)
      .def_ro("compile_id", &LogLine::compile_id)
      .def_prop_ro("file", [](const LogLine& line) { return text(line.file); })
      .def_ro("line", &LogLine::line)
      .def_prop_ro("function", [](const LogLine& line) { return text(line.function); })
      .def_prop_ro("text", [](const LogLine& line) { return text(line.text); });
  nb::class_<LogRenderer>(module, "LogRenderer")
      .def(
          "__init__",
          [](LogRenderer* self, const LogSettings& settings, nb::object callback) {
            new (self) LogRenderer(settings, source_line(callback));
          },
          nb::arg("settings"), nb::arg("source_line").none())
      .def("render", &render, nb::arg("line"))
      .def("finish", &finish);
  module.def("chrome_trace", [](nb::object run) { return text(chrome_trace(run_of(run))); });
  module.def("trace_diff_json", [](nb::object before, nb::object after) {
    return text(diff_json(diff_runs(run_of(before), run_of(after))));
  });
  module.def("trace_diff_text", [](nb::object before, nb::object after) {
    return text(diff_text(diff_runs(run_of(before), run_of(after))));
  });
}

nb::list dump_table() {
  nb::list table;
  for (const DumpFile& file : all_dump_files()) {
    nb::list events;
    for (EventId event : file.events) events.append(text(info(event).name));
    table.append(nb::make_tuple(text(file.name), events, text(file.doc)));
  }
  return table;
}

// Paths are bytes to the system; Python's text for them may hold surrogates.
std::string path_bytes(nb::handle path) {
  nb::bytes encoded = nb::steal<nb::bytes>(PyUnicode_EncodeFSDefault(path.ptr()));
  if (!encoded.is_valid()) throw nb::python_error();
  return std::string(encoded.c_str(), encoded.size());
}

void bind_dump(nb::module_& module) {
  module.def("dump_table", &dump_table);
  nb::class_<DumpWriter>(module, "DumpWriter")
      .def(
          "__init__",
          [](DumpWriter* self, nb::object prelude, nb::object flags, nb::object facts, int64_t limit,
             nb::object callback, nb::object compile_hook) {
            new (self) DumpWriter({.prelude = bytes_of(prelude),
                                   .build_flags = bytes_of(flags),
                                   .facts = bytes_of(facts),
                                   .limit = limit,
                                   .source_line = source_line(callback),
                                   .compile_source = compile_source(compile_hook)});
          },
          nb::arg("prelude"), nb::arg("flags"), nb::arg("facts"), nb::arg("limit"),
          nb::arg("source_line").none(), nb::arg("compile_hook") = nb::none())
      .def("open", [](DumpWriter& writer, nb::object path) { return text(writer.open(path_bytes(path))); })
      .def("add_line",
           [](DumpWriter& writer, nb::object line) { return text(writer.add_line(bytes_of(line))); })
      .def("directory_of",
           [](DumpWriter& writer, const std::string& id) { return text(writer.directory_of(id)); })
      .def("finish", [](DumpWriter& writer) { return text(writer.finish()); });
}

void bind_reports(nb::module_& module) {
  module.def(
      "explain_json",
      [](nb::object lines, nb::object status, nb::object callback) {
        return text(value_or_raise(explain_json(lines_of(lines), bytes_of(status), source_line(callback))));
      },
      nb::arg("lines"), nb::arg("status"), nb::arg("source_line").none());
  module.def(
      "explain_text",
      [](nb::object lines, nb::object status, nb::object callback) {
        return text(value_or_raise(explain_text(lines_of(lines), bytes_of(status), source_line(callback))));
      },
      nb::arg("lines"), nb::arg("status"), nb::arg("source_line").none());
  module.def(
      "clinic_json",
      [](nb::object lines, nb::object statuses, nb::object facts, nb::object callback,
         nb::object compile_hook) {
        return text(value_or_raise(clinic_json(lines_of(lines), bytes_of(statuses), bytes_of(facts),
                                               source_line(callback), compile_source(compile_hook))));
      },
      nb::arg("lines"), nb::arg("statuses"), nb::arg("facts"), nb::arg("source_line").none(),
      nb::arg("compile_hook") = nb::none());
  module.def("own_findings", [] {
    nb::list rows;
    for (const OwnFindingInfo& info : all_own_findings()) {
      nb::dict row;
      row["id"] = text(std::string(info.name));
      row["station"] = text(std::string(name_of(info.station)));
      row["doc"] = text(std::string(info.doc));
      rows.append(row);
    }
    return rows;
  });
  module.def("clinic_text",
             [](nb::object report) { return text(value_or_raise(clinic_text(bytes_of(report)))); });
  const auto& files = all_dump_files();
  module.attr("kernel_lines_file") =
      text(std::string(std::ranges::find(files, "kernel_lines", &DumpFile::id)->name));
  module.def("escape_terminal", [](nb::object plain) { return text(escaped_text(bytes_of(plain))); });
  module.def("escape_line", [](nb::object plain) { return text(escaped_line(bytes_of(plain))); });
}

nb::list tables_list(const std::vector<LineTable>& tables) {
  nb::list out;
  for (const LineTable& table : tables)
    out.append(nb::make_tuple(text(table.path), table.first_line, text(table.json)));
  return out;
}

std::vector<LineTable> tables_of(nb::handle list) {
  std::vector<LineTable> tables;
  for (nb::handle table : list)
    tables.push_back({bytes_of(table[0]), nb::cast<int64_t>(table[1]), bytes_of(table[2])});
  return tables;
}

void bind_where(nb::module_& module) {
  module.def("line_tables_of_trace",
             [](nb::object lines) { return tables_list(line_tables_of_trace(lines_of(lines))); });
  module.def("line_table_of_dump", [](nb::object path, nb::object content) {
    return tables_list(line_table_of_dump(bytes_of(path), bytes_of(content)));
  });
  module.def("where", [](nb::object tables, nb::object query) {
    const Where found = value_or_raise(find_where(tables_of(tables), bytes_of(query)));
    return nb::make_tuple(text(where_json(found)), text(where_text(found)), !found.matches.empty());
  });
}

}  // namespace
}  // namespace suture::toolbox

NB_MODULE(_toolbox, module) {
  suture::toolbox::bind_logs(module);
  suture::toolbox::bind_dump(module);
  suture::toolbox::bind_reports(module);
  suture::toolbox::bind_where(module);
  suture::toolbox::bind_decompile(module);
  suture::toolbox::bind_decompiler(module);
  suture::toolbox::bind_reduce(module);
}
