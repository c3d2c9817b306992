// The tables of the compiler, for docs, completion, tests and the command line.
#include <string>
#include <vector>

#include "base/nearest_name.h"
#include "bindings/core_module.h"
#include "bytecode/instruction.h"
#include "capture/graph_break.h"
#include "cpython/code_object.h"
#include "driver/fault_text.h"
#include "driver/options.h"
#include "driver/perf_hints.h"
#include "guard/guard_text.h"
#include "ops/op_info.h"
#include "passes/pass_runner.h"
#include "trace/event.h"

namespace suture {

const char* kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::Input: return "Input";
    case OpKind::Elementwise: return "Elementwise";
    case OpKind::Reduce: return "Reduce";
    case OpKind::View: return "View";
    case OpKind::Create: return "Create";
    case OpKind::Contract: return "Contract";
    case OpKind::Effect: return "Effect";
  }
  return "?";
}

namespace {

const char* level_name(OpLevel level) {
  switch (level) {
    case OpLevel::Prim: return "Prim";
    case OpLevel::Composite: return "Composite";
    case OpLevel::Extern: return "Extern";
  }
  return "?";
}

const char* signals_name(OpSignals signals) {
  switch (signals) {
    case OpSignals::Never: return "Never";
    case OpSignals::Flags: return "Flags";
    case OpSignals::Status: return "Status";
    case OpSignals::Build: return "Build";
  }
  return "?";
}

nb::list op_table() {
  nb::list table;
  for (const OpInfo& op : all_ops()) {
    nb::dict row;
    row["enumerator"] = std::string(op.enumerator);
    row["name"] = std::string(op.name);
    row["kind"] = kind_name(op.kind);
    row["level"] = level_name(op.level);
    row["arity"] = op.arity;
    row["numpy"] = std::string(op.numpy);
    row["ulp64"] = op.ulp64;
    row["ulp32"] = op.ulp32;
    row["signals"] = signals_name(op.signals);
    row["checked"] = op.form == ScalarForm::Checked;
    row["whole"] = op.reads == OperandUse::Whole;
    row["doc"] = std::string(op.doc);
    table.append(row);
  }
  return table;
}

nb::list option_table() {
  nb::list table;
  for (const OptionInfo& o : all_options())
    table.append(nb::make_tuple(std::string(o.name), std::string(o.type), std::string(o.default_text),
                                std::string(o.env), o.allowed(), std::string(o.doc), std::string(o.scope)));
  return table;
}

nb::list event_table() {
  nb::list table;
  for (const EventInfo& e : all_events())
    table.append(nb::make_tuple(std::string(e.name), std::string(e.doc)));
  return table;
}

nb::list event_field_table() {
  nb::list table;
  for (const EventFieldInfo& f : all_event_fields())
    table.append(nb::make_tuple(std::string(info(f.event).name), std::string(f.name), std::string(f.type),
                                std::string(f.doc)));
  return table;
}

nb::list break_table() {
  nb::list table;
  for (const BreakReasonInfo& b : all_break_reasons())
    table.append(nb::make_tuple(std::string(b.code), std::string(b.enumerator), std::string(b.title),
                                std::string(b.explanation), std::string(b.hint), std::string(b.station),
                                std::string(name_of(b.severity))));
  return table;
}

nb::list guard_table() {
  nb::list table;
#define SUTURE_GUARD(id, name, check, python, subject, expected, actual, action, ...)                  \
  table.append(nb::make_tuple(name, check, GuardFailure{subject, expected, actual, action}.sentence(), \
                              action, python));
#include "guard/guards.def"
  return table;
}

nb::list pass_table() {
  nb::list table;
  for (const PassInfo& pass : all_passes())
    table.append(nb::make_tuple(std::string(pass.name), pass.required, std::string(pass.doc)));
  return table;
}

nb::dict fault_tables() {
  nb::list kinds, keys, words;
  for (const FaultKindInfo& kind : all_fault_kinds())
    kinds.append(
        nb::make_tuple(std::string(kind.name), std::string(name(kind.stage)), std::string(kind.doc)));
  for (const FaultKey& key : all_fault_keys())
    keys.append(nb::make_tuple(std::string(key.name), std::string(key.default_text), std::string(key.doc)));
  for (const FaultWord& word : all_fault_words())
    words.append(nb::make_tuple(std::string(word.name), std::string(word.doc)));
  nb::dict tables;
  tables["kinds"] = kinds;
  tables["keys"] = keys;
  tables["words"] = words;
  return tables;
}

nb::list numpy_table() {
  nb::list table;
#define SUTURE_NUMPY(spelled, op, adapter, parameters) \
  table.append(nb::make_tuple("np." #spelled, std::string(info(OpId::op).name), parameters));
#define SUTURE_NUMPY_METHOD(spelled, op, adapter, parameters) \
  table.append(nb::make_tuple("ndarray." #spelled, std::string(info(OpId::op).name), parameters));
#include "capture/numpy_names.def"
  return table;
}

nb::list python_math_table() {
  nb::list table;
#define SUTURE_PYTHON_MATH(spelled, op, ...) \
  table.append(nb::make_tuple("math." spelled, std::string(info(OpId::op).name)));
#include "ops/python_math.def"
  return table;
}

nb::list fusion_reason_table() {
  nb::list table;
#define SUTURE_FUSION_REASON(id, name, sentence, advice) table.append(nb::make_tuple(name, sentence, advice));
#include "schedule/fusion_reasons.def"
  return table;
}

nb::list perf_hint_table() {
  nb::list table;
  for (const PerfHintInfo& hint : all_perf_hints())
    table.append(nb::make_tuple(std::string(hint.name), std::string(hint.title), std::string(hint.why),
                                std::string(hint.advice)));
  return table;
}

// What somebody typed. It may hold what no text has, and is like no name then.
std::string typed(const nb::str& words) {
  const nb::bytes utf8 =
      nb::steal<nb::bytes>(PyUnicode_AsEncodedString(words.ptr(), "utf-8", "backslashreplace"));
  if (!utf8.is_valid()) throw nb::python_error();
  return {utf8.c_str(), utf8.size()};
}

}  // namespace

void bind_tables(nb::module_& module) {
  module.def("op_table", &op_table);
  module.def("option_table", &option_table);
  module.def("event_table", &event_table);
  module.def("shown_events", [] {
    // Without opcode tables every function is skipped for one reason, which a warning has told.
    const bool tables = can_be_rewritten(running_python_version());
    std::vector<std::string> names;
    for (const EventInfo& event : all_events())
      if (event.shown == Visibility::kShown && (tables || event.id != EventId::kFrameSkipped))
        names.emplace_back(event.name);
    return names;
  });
  module.def("event_field_table", &event_field_table);
  module.def("break_table", &break_table);
  module.def("guard_table", &guard_table);
  module.def("pass_table", &pass_table);
  module.def("fault_tables", &fault_tables);
  module.def("numpy_table", &numpy_table);
  module.def("python_math_table", &python_math_table);
  module.def("fusion_reason_table", &fusion_reason_table);
  module.def("perf_hint_table", &perf_hint_table);
  module.def("nearest_name", [](const nb::str& wanted, const std::vector<std::string>& known) {
    return nearest_name(typed(wanted), known);
  });
  module.def(
      "did_you_mean",
      [](const nb::str& wanted, const std::vector<std::string>& known, std::string otherwise) {
        return did_you_mean(typed(wanted), known, std::move(otherwise));
      },
      nb::arg("wanted"), nb::arg("known"), nb::arg("otherwise") = "");
  module.def("get_option", [](const std::string& name) {
    const auto& options = all_options();
    for (const OptionInfo& o : options)
      if (o.name == name) return compiler().options.text(name);
    raise(Error::unsupported("options", "unknown option '" + name + "'"));
  });
  module.def("set_option", [](const std::string& name, std::string value) {
    value_or_raise(compiler().set_option(name, std::move(value)));
  });
  module.def("check_option", [](const std::string& name, std::string value) {
    Options checked = compiler().options;
    value_or_raise(checked.set(name, std::move(value)));
    return checked.text(name);
  });
  module.def("option_problems", [] { return compiler().options.problems(); });
}

}  // namespace suture
