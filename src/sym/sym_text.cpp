// Text of symbolic integers: Python (str) and C++ (cpp). Only the spelling of calls and names differs.
#include <functional>

#include "sym/poly.h"

namespace suture {

namespace {

struct Spelling {
  std::function<std::string(SymbolId)> name;
  bool cpp = false;
};

std::string text(const SymInt& e, const Spelling& spelling);

std::string number(int64_t value) {
  // The most negative value has no literal of its own in C++.
  return value == INT64_MIN ? "(-9223372036854775807 - 1)" : std::to_string(value);
}

std::string parenthesised(const SymInt& e, const Spelling& spelling) {
  bool plain = e.as_symbol() || (e.constant() && *e.constant() >= 0);
  return plain ? text(e, spelling) : "(" + text(e, spelling) + ")";
}

// cpp functions take two arguments, Python's min and max any number.
std::string call(const std::string& function, std::span<const SymInt> args, const Spelling& spelling) {
  std::string first = text(args[0], spelling);
  if (args.size() == 1) return first;
  if (spelling.cpp) return function + "(" + first + ", " + call(function, args.subspan(1), spelling) + ")";
  std::string out = function + "(" + first;
  for (const SymInt& arg : args.subspan(1)) out += ", " + text(arg, spelling);
  return out + ")";
}

std::string text(const Atom& atom, const Spelling& spelling, bool alone) {
  const std::string prefix = spelling.cpp ? "sym_" : "";
  switch (atom.kind) {
    case Atom::Kind::kSymbol: return spelling.name(atom.symbol);
    case Atom::Kind::kUndefined: return "undefined";
    case Atom::Kind::kMin: return call(prefix + "min", atom.args, spelling);
    case Atom::Kind::kMax: return call(prefix + "max", atom.args, spelling);
    default: break;
  }
  bool division = atom.kind == Atom::Kind::kFloorDiv;
  if (spelling.cpp) return call(division ? "sym_floordiv" : "sym_mod", atom.args, spelling);
  std::string out = parenthesised(atom.args[0], spelling) + (division ? " // " : " % ") +
                    parenthesised(atom.args[1], spelling);
  return alone ? out : "(" + out + ")";
}

std::string text(const Term& term, int64_t coefficient, const Spelling& spelling, bool alone) {
  alone = alone && coefficient == 1 && term.atoms.size() == 1;
  std::string out = coefficient == 1 ? "" : number(coefficient) + "*";
  for (size_t i = 0; i < term.atoms.size(); ++i) {
    if (i > 0) out += "*";
    out += text(*term.atoms[i], spelling, alone);
  }
  return out;
}

std::string text(const SymInt& e, const Spelling& spelling) {
  std::span<const Term> terms = SymIntAccess::terms(e);
  int64_t offset = SymIntAccess::offset(e);
  if (terms.empty()) return number(offset);
  bool alone = terms.size() == 1 && offset == 0;
  std::string out;
  for (const Term& term : terms) {
    bool negative = term.coefficient < 0;
    if (!out.empty()) out += negative ? " - " : " + ";
    if (out.empty() && negative) out += "-";
    out += text(term, negative ? -term.coefficient : term.coefficient, spelling, alone && !negative);
  }
  if (offset != 0) out += (offset < 0 ? " - " : " + ") + std::to_string(offset < 0 ? -offset : offset);
  return out;
}

Spelling with_names(std::span<const std::string> names, bool cpp) {
  return {[names](SymbolId id) { return names[static_cast<size_t>(id)]; }, cpp};
}

}  // namespace

std::string SymInt::str() const {
  return text(*this, {[](SymbolId id) { return "s" + std::to_string(id); }, false});
}
std::string SymInt::cpp(std::span<const std::string> symbol_names) const {
  return text(*this, with_names(symbol_names, true));
}
std::string SymInt::python(std::span<const std::string> symbol_names) const {
  return text(*this, with_names(symbol_names, false));
}

}  // namespace suture
