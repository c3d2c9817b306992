// See guard_python.h.
#include "guard/guard_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/escaped_text.h"
#include "cpython/code_object.h"
#include "cpython/objects.h"
#include "guard/guard_check.h"
#include "guard/guard_support.h"
#include "guard/python_literal.h"

namespace suture {
namespace {

constexpr const char* kIndent = "        ";
constexpr size_t kLongestComment = 120;  // bytes of quoted source

// What has been tested about an array so far; later tests rely on it.
struct KnownArray {
  bool exact = false;  // type(x) is numpy.ndarray
  bool plain = false;
  int64_t rank = -1;
};

bool is_about_array(GuardKind kind) {
  switch (kind) {
    case GuardKind::kDtype:
    case GuardKind::kRank:
    case GuardKind::kSize:
    case GuardKind::kStride:
    case GuardKind::kContiguous:
    case GuardKind::kNewStrides:
    case GuardKind::kWriteable:
    case GuardKind::kSizeRange:
    case GuardKind::kStrideRange: return true;
    default: return false;
  }
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : escaped_line(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// In a comment or a docstring: one line that ends neither.
std::string remark(std::string_view text) {
  std::string out = escaped_line(text);
  std::ranges::replace(out, '"', '\'');
  std::ranges::replace(out, '\\', '/');
  return out;
}

std::string limit_text(int64_t value, int64_t more) {
  if (value == INT64_MIN) return "-(2**63)";
  if (value == INT64_MAX) return "2**63";
  if (value == kLargestSize) return more ? "2**48 + 1" : "2**48";
  return std::to_string(value + more);
}

class Printer {
 public:
  Printer(const GuardTree& tree, PyView function, const GuardFunctionTitle& title)
      : set_(tree.set()), env_(tree.env()), function_(function), title_(title) {
    known_.resize(static_cast<size_t>(set_.sources.size()));
    variables_.resize(static_cast<size_t>(set_.sources.size()));
    for (const Guard& guard : set_.guards) choose_expected(guard);
    for (SourceId id = 0; id < set_.sources.size(); ++id)
      if (const Source& source = set_.sources[id]; source.key)
        keys_[id] = source.kind == SourceKind::kObject ? literals_.same(source.key.get())
                                                       : literals_.of(source.key.get());
    reserve_names();
    name_parameters();
  }

  GuardFunction print() {
    for (size_t i = 0; i < set_.guards.size(); ++i) print_guard(i);
    if (body_.empty()) body_ = std::string(kIndent) + "pass\n";
    const std::string name =
        fmt::format("__guard_{}_for_{}", title_.entry, as_python_name(function_name(function_)));
    return {name, whole_text(name), literals_.objects()};
  }

 private:
  // --- names -----------------------------------------------------------------------------------------------

  // Builtins and modules that the text uses keep their names; parameters and variables go out of their way.
  void reserve_names() {
    for (const char* name :
         {"type", "int", "range", "LookupError", "ZeroDivisionError", "numpy", "abc", "_K"})
      used_.insert(name);
    used_.insert(literals_.names().begin(), literals_.names().end());
    for (const std::string& module : literals_.modules()) used_.insert(module.substr(0, module.find('.')));
  }

  std::string fresh(const std::string& name) {
    std::string chosen = name;
    for (int n = 1; is_guard_support_name(chosen) || !used_.insert(chosen).second; ++n)
      chosen = fmt::format("{}_{}", name, n);
    return chosen;
  }

  void name_parameters() {
    auto code = code_view(function_code(function_));
    const size_t count = code.ok() ? static_cast<size_t>(code->parameter_count()) : 0;
    for (size_t i = 0; i < count; ++i) {
      const std::string& name = code->local_names[i];
      parameters_.push_back(fresh(is_python_name(name) ? name : as_python_name(name)));
    }
    globals_ = fresh("globals");
    closure_ = fresh("closure");
    own_function_ = fresh("function");
  }

  // --- what guards expect ----------------------------------------------------------------------------------

  // Chosen before names are given away, because it decides which are taken.
  void choose_expected(const Guard& guard) {
    std::string text;
    switch (guard.kind) {
      case GuardKind::kType:
      case GuardKind::kConstant:
      case GuardKind::kCode:
      case GuardKind::kDictKeys:
      case GuardKind::kAbsent: text = literals_.of(guard.object.get()); break;
      case GuardKind::kIdentity:
        text = guard.weak ? fmt::format("_referent({})", literals_.entry(guard.object.get()))
                          : literals_.same(guard.object.get());
        break;
      case GuardKind::kDtype:
        text = fmt::format("\"{}\"", info(static_cast<DType>(guard.number)).numpy_name);
        break;
      case GuardKind::kContiguous: text = guard.number == 'F' ? "f_contiguous" : "c_contiguous"; break;
      case GuardKind::kNewStrides: text = guard.number == 'F' ? "\"F\"" : "\"C\""; break;
      case GuardKind::kWriteable: text = guard.number ? "True" : "False"; break;
      case GuardKind::kSizeRange:
      case GuardKind::kStrideRange:
      case GuardKind::kIntRange: text = range(guard); break;
      default: text = std::to_string(guard.number);
    }
    expected_.push_back(std::move(text));
  }

  std::string range(const Guard& guard) const {
    if (guard.symbol < 0) return "range(-(2**63), 2**63)";
    const SymbolInfo& symbol = env_.symbols()[static_cast<size_t>(guard.symbol)];
    return fmt::format("range({}, {})", limit_text(symbol.min, 0), limit_text(symbol.max, 1));
  }

  // --- sources ---------------------------------------------------------------------------------------------

  // The variable that holds a source; prints what fetches it the first time.
  std::string fetched(SourceId id) {
    const Source& source = set_.sources[id];
    std::string& variable = variables_[static_cast<size_t>(id)];
    if (!variable.empty()) return variable;
    if (source.kind == SourceKind::kLocal) {
      const auto index = static_cast<size_t>(source.index);
      return variable = index < parameters_.size() ? parameters_[index] : "_item((), 0)";
    }
    if (source.kind == SourceKind::kFunction) return variable = own_function_;
    if (source.kind == SourceKind::kObject) return variable = keys_.at(id);
    const std::string parent = source.parent == kNoSource ? "" : fetched(source.parent);
    const std::string expression = fetch_expression(id, source, parent);
    const std::string words = set_.sources.str(id);
    std::string chosen = fresh(is_python_name(words) ? words : as_python_name(words));
    body_ += fmt::format("{}{} = {}\n", kIndent, chosen, expression);
    return variables_[static_cast<size_t>(id)] = chosen;
  }

  std::string fetch_expression(SourceId id, const Source& source, const std::string& parent) {
    const std::string name = quoted(source.name);
    switch (source.kind) {
      case SourceKind::kCell: return fmt::format("_contents(_item({}, {}))", closure_, source.index);
      case SourceKind::kGlobal: return fmt::format("_key({}, {})", globals_, name);
      case SourceKind::kBuiltin: return fmt::format("_key(_builtin_names({}), {})", own_function_, name);
      case SourceKind::kAttr:
        if (source.name.front() != '_' && is_module(source.parent))
          return fmt::format("_module_item({}, {})", parent, name);
        return fmt::format("_attribute({}, {}{})", parent, name, binding_argument(source));
      case SourceKind::kItem: return fmt::format("_item({}, {})", parent, source.index);
      case SourceKind::kKey: return fmt::format("_key({}, {})", parent, keys_.at(id));
      case SourceKind::kGlobalsOf: return fmt::format("_part({}, \"__globals__\")", parent);
      case SourceKind::kClosureOf:
        return fmt::format("_contents(_item(_part({}, \"__closure__\"), {}))", parent, source.index);
      case SourceKind::kDefaultOf: return fmt::format("_default({}, {})", parent, source.index);
      case SourceKind::kKwDefaultOf:
        return fmt::format("_key(_part({}, \"__kwdefaults__\"), {})", parent, name);
      case SourceKind::kCodeOf: return fmt::format("_part({}, \"__code__\")", parent);
      case SourceKind::kSelfOf: return fmt::format("_method_part({}, \"__self__\")", parent);
      case SourceKind::kFuncOf: return fmt::format("_method_part({}, \"__func__\")", parent);
      case SourceKind::kTypeOf: return fmt::format("type({})", parent);
      case SourceKind::kMroOf: return fmt::format("_mro({})", parent);
      case SourceKind::kClassAttr: return fmt::format("_in_classes({}, {})", parent, name);
      case SourceKind::kSuper: return fmt::format("_behind({}, {}, {})", parent, keys_.at(id), name);
      case SourceKind::kBaseOf: return fmt::format("_base({})", parent);
      case SourceKind::kContentsOf: return fmt::format("_contents({})", parent);
      default: return parent;
    }
  }

  // A guard makes sure of it.
  bool is_module(SourceId id) const {
    const Source& source = set_.sources[id];
    if (source.kind == SourceKind::kObject) return PyModule_CheckExact(source.key.get());
    return std::ranges::any_of(set_.guards, [id](const Guard& guard) {
      return guard.source == id && guard.kind == GuardKind::kIdentity && !guard.weak &&
             PyModule_CheckExact(guard.object.get());
    });
  }

  static std::string binding_argument(const Source& source) {
    switch (static_cast<Binding>(source.index)) {
      case Binding::kInstance: return ", \"instance\"";
      case Binding::kClass: return ", \"class\"";
      case Binding::kProperty: return ", \"property\"";
      default: return "";
    }
  }

  // --- guards ----------------------------------------------------------------------------------------------

  void print_guard(size_t index) {
    const Guard& guard = set_.guards[index];
    const std::string variable = guard.source == kNoSource ? "" : fetched(guard.source);
    std::string expected = guard.other != kNoSource ? fetched(guard.other) : expected_[index];
    if (guard.kind == GuardKind::kShape) expected = fact(env_.facts()[static_cast<size_t>(guard.fact)]);
    const std::string test = precondition(guard, variable) + filled(guard, variable, expected);
    body_ += fmt::format("{}if not ({}): return False{}\n", kIndent, test, comment(guard));
  }

  // Tests that must come first so that the attributes that the guard reads are there, and mean what they say.
  std::string precondition(const Guard& guard, const std::string& variable) {
    if (guard.source == kNoSource) return "";
    KnownArray& known = known_[static_cast<size_t>(guard.source)];
    std::string text;
    if (is_about_array(guard.kind) && !known.exact)
      text += fmt::format("type({}) is numpy.ndarray and ", variable);
    if (is_about_array(guard.kind)) known.exact = true;
    if (guard.kind == GuardKind::kArray) known.exact = known.plain = true;
    if (guard.kind == GuardKind::kDtype && !known.plain)
      text += fmt::format("_is_plain_dtype({}.dtype) and ", variable);
    if (guard.kind == GuardKind::kRank) known.rank = guard.number;
    const bool has_axis = guard.kind == GuardKind::kSize || guard.kind == GuardKind::kStride ||
                          guard.kind == GuardKind::kSizeRange || guard.kind == GuardKind::kStrideRange;
    if (has_axis && guard.index >= known.rank)
      text += fmt::format("{}.ndim > {} and ", variable, guard.index);
    return text;
  }

  std::string filled(const Guard& guard, const std::string& variable, const std::string& expected) {
    std::string text;
    const std::string_view pattern = info(guard.kind).python;
    for (size_t at = 0; at < pattern.size();) {
      const auto take = [&](std::string_view key, const std::string& value) {
        if (pattern.substr(at, key.size()) != key) return false;
        text += value;
        at += key.size();
        return true;
      };
      if (take("{s}", variable) || take("{i}", std::to_string(guard.index)) || take("{expected}", expected) ||
          take("{symbol}", pattern.find("{symbol}") == std::string_view::npos ? "" : symbol(guard.symbol)))
        continue;
      text += pattern[at++];
    }
    return text;
  }

  std::string symbol(SymbolId id) {
    if (id < 0) return fresh("unnamed");
    std::string& name = symbols_[id];
    if (name.empty()) name = fresh(env_.symbols()[static_cast<size_t>(id)].name);
    return name;
  }

  // Calls in it go through functions that refuse operands of more than 64 bits, as SymInt::evaluate does; so do values of
  // whole sides that are computed.
  std::string side(const SymInt& e) {
    std::vector<std::string> names;
    for (size_t i = 0; i < env_.symbols().size(); ++i) names.push_back(symbol(static_cast<SymbolId>(i)));
    const std::string text = e.python(names);
    if (e.is_constant() || e.as_symbol()) return text;
    const bool calls = text.find_first_of("/%(") != std::string::npos;
    return fmt::format("_fits({})", calls ? e.cpp(names) : text);
  }

  std::string fact(const ShapeFact& fact) {
    const std::string left = side(fact.lhs);
    switch (fact.relation) {
      case Relation::kEq: return left + " == " + side(fact.rhs);
      case Relation::kNe: return left + " != " + side(fact.rhs);
      case Relation::kLt: return left + " < " + side(fact.rhs);
      case Relation::kLe: return left + " <= " + side(fact.rhs);
      case Relation::kFits: return left + " in range(-(2**63), 2**63)";
    }
    return "False";
  }

  std::string comment(const Guard& guard) const {
    if (!guard.where.known()) return "";
    std::string file = guard.where.file.substr(guard.where.file.rfind('/') + 1);
    std::string source = title_.source_line ? title_.source_line(guard.where) : "";
    if (source.size() > kLongestComment) source = source.substr(0, kLongestComment) + "...";
    return fmt::format("  # {}:{}{}", remark(file), guard.where.line,
                       source.empty() ? "" : ": " + remark(source));
  }

  // --- the whole -------------------------------------------------------------------------------------------

  std::string table() const {
    if (literals_.objects().empty()) return "";
    std::string text =
        "# Objects of the program, which a file cannot hold: suture.guard_functions(compiled) puts them "
        "here.\n_K = [\n";
    for (const PyRef& object : literals_.objects()) {
      const bool weak = PyWeakref_CheckRef(object.get());
      text += fmt::format("    _Unbound(),  # {}{}\n", weak ? "weak reference to " : "",
                          remark(object_text(weak ? weak_target(object.get()) : object.get())));
    }
    return text + "]\n\n\n";
  }

  std::string whole_text(const std::string& name) const {
    auto code = code_view(function_code(function_));
    const std::string place = code.ok() ? fmt::format(" ({}:{})", code->filename, code->first_line) : "";
    std::string parameters;
    for (const std::string& parameter : parameters_) parameters += parameter + ", ";
    const std::string text = fmt::format(
        "{}def {}({}{}, {}=(), {}=None):\n    \"\"\"Whether compile {} of {}{} serves a call with these "
        "bound "
        "arguments.\"\"\"\n    try:\n{}    except (LookupError, ZeroDivisionError):  # something is not "
        "there any more\n"
        "        return False\n    return True\n",
        table(), name, parameters, globals_, closure_, own_function_, title_.compile,
        remark(function_qualname(function_)), remark(place), body_);
    GuardSupport support = guard_support_for(text);
    support.modules.insert(literals_.modules().begin(), literals_.modules().end());
    std::string imports;
    for (const std::string& module : support.modules) imports += "import " + module + "\n";
    return imports + (imports.empty() ? "" : "\n\n") + support.definitions + text;
  }

  const GuardSet& set_;
  const ShapeEnv& env_;
  PyView function_;
  const GuardFunctionTitle& title_;
  PythonLiterals literals_;
  std::vector<std::string> expected_;  // by guard
  std::map<SourceId, std::string> keys_;
  std::set<std::string> used_;
  std::vector<std::string> parameters_, variables_;
  std::string globals_, closure_, own_function_;
  std::map<SymbolId, std::string> symbols_;
  std::vector<KnownArray> known_;  // by source
  std::string body_;
};

}  // namespace

GuardFunction print_guard_function(const GuardTree& tree, PyView function, const GuardFunctionTitle& title) {
  return Printer(tree, function, title).print();
}

}  // namespace suture
