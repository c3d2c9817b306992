// guard_functions, failing_guard: the guards of compiled entries as printed Python, and as the tree answers.
#include <nanobind/stl/optional.h>

#include "bindings/core_module.h"
#include "cpython/call_binding.h"
#include "cpython/discard_error.h"
#include "cpython/jit_callable.h"
#include "driver/report_guards.h"
#include "runtime/stepping.h"

namespace suture {
namespace {

nb::dict guard_function_row(const FrameRecord& frame, PyView callable, const CacheEntry& entry) {
  PyView function = jit_callable_function(callable);
  const CompileId id{frame.id, entry.number, 0};
  const GuardFunction printed = guard_function(id, entry, function);
  nb::list objects;
  for (const PyRef& object : printed.objects) objects.append(nb::borrow<nb::object>(object.get()));
  nb::dict row;
  row["compile_id"] = text(id.str());
  row["name"] = text(printed.name);
  row["text"] = text(printed.text);
  row["objects"] = objects;
  row["compiled"] = nb::borrow<nb::object>(callable);
  row["function"] = nb::borrow<nb::object>(function);
  return row;
}

void add_guard_functions(PyView callable, nb::list& rows) {
  const CodeCache& cache = cache_of(callable);
  auto record = compiler().record(cache.frame_id());
  if (!record) return;
  for (const auto& entry : cache.entries()) rows.append(guard_function_row(*record, callable, *entry));
}

nb::list guard_functions(nb::handle object) {
  checked_cache_of(object);
  nb::list rows;
  for (const PyRef& callable : compiler().family_callables(object.ptr()))
    add_guard_functions(callable.get(), rows);
  return rows;
}

std::string graph_code(const FrameRecord& record, int compile) {
  std::string code;
  for (const Event& event : record.events) {
    if (event.id != EventId::kGraphCaptured || event.compile.compile != compile) continue;
    const EventValue* value = event.find("code");
    if (const auto* found = value ? std::get_if<std::string>(value) : nullptr) code = *found;
  }
  return code;
}

nb::list compiled_entries(nb::handle object) {
  checked_cache_of(object);
  nb::list rows;
  for (const PyRef& callable : compiler().family_callables(object.ptr())) {
    const CodeCache& cache = cache_of(callable.get());
    auto record = compiler().record(cache.frame_id());
    for (const auto& entry : cache.entries()) {
      nb::dict row;
      row["compile_id"] = text(CompileId{cache.frame_id(), entry->number, 0}.str());
      row["entry"] = entry->number;
      row["kind"] = text(record ? std::string(name_of(record->kind)) : "");
      row["function"] = nb::borrow<nb::object>(jit_callable_function(callable.get()));
      row["transformed"] =
          entry->transformed ? nb::borrow<nb::object>(entry->transformed.get()) : nb::object(nb::none());
      row["graph"] = text(record ? graph_code(*record, entry->number) : "");
      row["eager_reason"] = text(entry->eager_reason);
      rows.append(row);
    }
  }
  return rows;
}

nb::list guard_code_records(nb::handle object) {
  checked_cache_of(object);
  nb::list lines;
  for (const PyRef& callable : compiler().family_callables(object.ptr())) {
    const CodeCache& cache = cache_of(callable.get());
    for (const auto& entry : cache.entries())
      lines.append(text(to_json_line(guard_code_event({cache.frame_id(), entry->number, 0}, *entry,
                                                      jit_callable_function(callable.get())))));
  }
  return lines;
}

nb::tuple bound_arguments(nb::handle object, const nb::tuple& arguments, const nb::dict& keywords) {
  checked_cache_of(object);
  PyView function = jit_callable_function(object.ptr());
  std::vector<PyObject*> values(
      reinterpret_cast<PyTupleObject*>(arguments.ptr())->ob_item,
      reinterpret_cast<PyTupleObject*>(arguments.ptr())->ob_item + arguments.size());
  nb::list names;
  for (auto [name, value] : keywords) {
    names.append(name);
    values.push_back(value.ptr());
  }
  BoundArguments bound;
  const nb::tuple keyword_names(names);
  if (!bound.bind(function, ParameterLayout::of(function), values.data(),
                  static_cast<Py_ssize_t>(arguments.size()),
                  keywords.size() ? keyword_names.ptr() : nullptr)) {
    discard_error();
    throw nb::type_error("the arguments do not fit the parameters of the function");
  }
  nb::list out;
  for (PyObject* value : bound.values()) out.append(nb::borrow<nb::object>(value));
  return nb::tuple(out);
}

std::optional<int> failing_guard(nb::handle object, int number, const nb::tuple& bound) {
  const CodeCache& cache = checked_cache_of(object);
  const auto* items = reinterpret_cast<PyTupleObject*>(bound.ptr())->ob_item;
  const FrameInput input{jit_callable_function(object.ptr()), {items, bound.size()}};
  for (const auto& entry : cache.entries()) {
    if (entry->number != number) continue;
    GuardScratch scratch;
    const int guard = entry->guards.evaluate(input, scratch);
    return guard < 0 ? std::nullopt : std::optional(guard);
  }
  throw nb::value_error("the function has no entry of that number");
}

}  // namespace

void bind_guards(nb::module_& module) {
  module.def(
      "step_with",
      [](nb::object hook) { set_stepping_hook(hook.is_none() ? PyRef() : PyRef::borrow(hook.ptr())); },
      nb::arg("hook").none());
  module.def("live_compiled", [] {
    nb::list out;
    for (const PyRef& callable : compiler().program_callables())
      out.append(nb::borrow<nb::object>(callable.get()));
    return out;
  });
  module.def("guard_functions", &guard_functions, nb::arg("obj"));
  module.def("compiled_entries", &compiled_entries, nb::arg("obj"));
  module.def("guard_code_records", &guard_code_records, nb::arg("obj"));
  module.def("bound_arguments", &bound_arguments, nb::arg("obj"), nb::arg("args"), nb::arg("kwargs"));
  module.def("failing_guard", &failing_guard, nb::arg("obj"), nb::arg("entry"), nb::arg("bound"));
}

}  // namespace suture
