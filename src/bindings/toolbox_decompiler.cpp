// The decompiler: marshalled code in, source and verdicts out.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/escaped_text.h"
#include "base/nearest_name.h"
#include "bindings/toolbox_module.h"
#include "bytecode/marshal_reader.h"
#include "bytecode/output_names.h"
#include "bytecode/pyc_file.h"
#include "bytecode/readable_output.h"
#include "toolbox/decompile/decompile.h"
#include "toolbox/decompile/line_map.h"

namespace suture::toolbox {
namespace {

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

PythonVersion version_of(const nb::tuple& version) {
  if (nb::len(version) < 2) throw nb::value_error("a version is a tuple (major, minor)");
  return {nb::cast<int>(version[0]), nb::cast<int>(version[1])};
}

// The outermost code object of a tree with the given qualified name.
CodeTreePtr select_code(const CodeTreePtr& root, const std::string& qualname) {
  if (qualname.empty()) return root;
  std::deque<CodeTreePtr> todo = {root};
  std::set<const CodeTree*> seen;
  std::vector<std::string> names;
  while (!todo.empty()) {
    const CodeTreePtr code = todo.front();
    todo.pop_front();
    if (code->view.qualname == qualname) return code;
    if (names.size() < 10'000) names.push_back(code->view.qualname);
    for (const Constant& constant : code->constants) {
      if (constant.is(Constant::Kind::kCode) && seen.insert(constant.code.get()).second)
        todo.push_back(constant.code);
    }
  }
  const std::string hint = did_you_mean(qualname, names);
  throw nb::value_error(
      fmt::format("it holds no code named '{}'{}", escaped_line(qualname), escaped_line(hint)).c_str());
}

// The constants of _function_facts in python/suture/_code_sources.py.
FunctionFacts facts_of(const nb::object& marshalled, PythonVersion version) {
  if (marshalled.is_none()) return {};
  const CodeTreePtr carrier =
      value_or_raise(read_code(view(nb::cast<nb::bytes>(marshalled)), version, {.placeholders = true}));
  const auto items = [&](size_t index) -> const Constant::Items& {
    static const Constant::Items kNone;
    const Constant* constant = carrier->constant(static_cast<int>(index));
    return constant && constant->is(Constant::Kind::kTuple) ? *constant->items : kNone;
  };
  FunctionFacts facts{.known = true, .defaults = items(0)};
  for (size_t i = 0; i < std::min(items(1).size(), items(2).size()); ++i) {
    facts.keyword_defaults.emplace_back(items(1)[i].text, items(2)[i]);
  }
  for (size_t i = 0; i < std::min({items(3).size(), items(4).size(), items(5).size()}); ++i) {
    facts.annotations.push_back({items(3)[i].text, items(4)[i].text, items(5)[i]});
  }
  return facts;
}

nb::dict record_of(const Decompilation& done) {
  nb::list codes;
  for (const CodeReport& each : done.codes) {
    const CodeView& it = each.code->view;
    codes.append(nb::make_tuple(text(it.qualname), it.first_line, static_cast<int>(each.tier),
                                text(each.verdict), text(escaped_line(each.note))));
  }
  nb::dict record;
  record["source"] = text(done.source);
  record["verdict"] = text(done.verdict);
  record["tier"] = static_cast<int>(done.tier);
  record["codes"] = codes;
  nb::dict renamed;
  for (const auto& [old_name, new_name] : done.renamed) renamed[text(old_name)] = text(new_name);
  record["renamed"] = renamed;
  return record;
}

nb::dict decompile_marshal(const nb::bytes& data, const nb::tuple& python, const nb::object& hook,
                           const nb::object& unverifiable, const nb::object& facts,
                           const nb::object& qualname, int tier) {
  const PythonVersion version = version_of(python);
  const CodeTreePtr root = value_or_raise(read_code(view(data), version, {.placeholders = true}));
  const CodeTreePtr code = select_code(root, bytes_of(qualname));
  const Decompilation done = decompile(*code, {.compile = compile_source(hook),
                                               .unverifiable = bytes_of(unverifiable),
                                               .function = facts_of(facts, version),
                                               .first_tier = static_cast<Tier>(tier)});
  return record_of(done);
}

OutputKind output_kind(const std::string& name) {
  if (name == "transformed") return OutputKind::kTransformed;
  if (name == "continuation") return OutputKind::kContinuation;
  throw nb::value_error(("no kind of output: '" + name + "'").c_str());
}

nb::dict decompile_output(const nb::bytes& data, const nb::tuple& python, const std::string& kind,
                          const nb::object& name, const nb::object& hook) {
  const CodeTreePtr code = value_or_raise(read_code(view(data), version_of(python), {.placeholders = true}));
  const ReadableOutput readable = value_or_raise(readable_output(*code, output_kind(kind), bytes_of(name)));
  return record_of(decompile(readable.code, {.compile = compile_source(hook),
                                             .unverifiable = "the check was left out",
                                             .qualname = readable.qualname}));
}

nb::tuple line_map_tuple(const LineMap& map) {
  nb::list nested;
  for (const auto& [constant, lines] : map.nested)
    nested.append(nb::make_tuple(constant, line_map_tuple(lines)));
  return nb::make_tuple(map.first_line,
                        nb::bytes(reinterpret_cast<const char*>(map.table.data()), map.table.size()), nested,
                        text(map.difference));
}

nb::tuple map_lines_of(const nb::bytes& executing, const nb::bytes& printed, const nb::tuple& python,
                       const std::string& kind) {
  const PythonVersion version = version_of(python);
  const CodeTreePtr one = value_or_raise(read_code(view(executing), version, {.placeholders = true}));
  const CodeTreePtr other = value_or_raise(read_code(view(printed), version, {.placeholders = true}));
  return line_map_tuple(value_or_raise(
      map_lines(*one, *other, kind.empty() ? std::nullopt : std::optional(output_kind(kind)))));
}

}  // namespace

// Calls back into Python. What `compile` refuses is an answer; Ctrl-C is none.
CompileSource compile_source(const nb::object& hook) {
  if (hook.is_none()) return nullptr;
  return [hook](const std::string& source, int flags) -> Result<std::string> {
    try {
      const auto code = nb::cast<nb::bytes>(hook(text(source), flags));
      return std::string(code.c_str(), code.size());
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      return Error::unsupported("compile", fmt::format("it does not compile: {}", error.what()));
    }
  };
}

// Names in transformed code, and those of helpers in its text with what they mean.
nb::dict output_names() {
  nb::dict helpers, names;
  for (const BlockHelper& helper : kBlockHelpers)
    helpers[nb::str(std::string(helper.name).c_str())] = std::string(helper.meaning);
  names["graph"] = std::string(kGraphName);
  names["markers"] = nb::make_tuple(std::string(kTailCallName), std::string(kReleaseArgumentsName));
  names["continuations"] = nb::make_tuple(kResumeName, kIterationName);
  names["helpers"] = helpers;
  return names;
}

void bind_decompiler(nb::module_& module) {
  module.def("output_names", &output_names);
  module.def("decompile_marshal", &decompile_marshal, nb::arg("data"), nb::arg("version"),
             nb::arg("compile_hook").none(), nb::arg("unverifiable"), nb::arg("facts").none(),
             nb::arg("qualname"), nb::arg("tier"));
  module.def("decompile_output", &decompile_output, nb::arg("data"), nb::arg("version"), nb::arg("kind"),
             nb::arg("name"), nb::arg("compile_hook").none());
  module.def("map_lines", &map_lines_of, nb::arg("executing"), nb::arg("printed"), nb::arg("version"),
             nb::arg("kind"));
  module.def("pyc_code", [](const nb::bytes& file) {
    constexpr size_t kHeader = 16;
    const PycFile pyc = value_or_raise(read_pyc(view(file)));
    return nb::make_tuple(nb::make_tuple(pyc.version.major, pyc.version.minor),
                          nb::bytes(file.c_str() + kHeader, file.size() - kHeader));
  });
}

}  // namespace suture::toolbox
