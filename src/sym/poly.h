// The representation behind SymInt, shared by the files of this room only.
//
// A SymInt is constant_ + sum of terms. A term is coefficient * product of atoms; an atom is a symbol or an
// opaque call. Canonical form: terms sorted by compare(), no zero coefficient, atoms of a term sorted (a
// power is a repetition). Atoms are built by the functions in sym_int.cpp only, which simplify first, so that
// equal expressions become equal atoms.
#pragma once

#include <memory>
#include <vector>

#include "sym/sym_int.h"

namespace suture {

struct Atom {
  enum class Kind : uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax, kUndefined } kind = Kind::kSymbol;
  SymbolId symbol = -1;
  std::vector<SymInt> args;
};
using AtomRef = std::shared_ptr<const Atom>;
using Monomial = std::vector<AtomRef>;  // sorted; never empty in a term

struct Term {
  int64_t coefficient = 0;
  Monomial atoms;
};

struct SymInt::Poly {
  std::vector<Term> terms;
};

struct SymIntAccess {
  static std::span<const Term> terms(const SymInt& e);
  static int64_t offset(const SymInt& e) { return e.constant_; }  // the constant summand
  // Sorts and merges; undefined on overflow.
  static SymInt make(std::vector<Term> terms, int64_t offset);
  static SymInt atom(AtomRef atom);
};

// Total order independent of addresses, so that text and generated code are the same in every run.
int compare(const SymInt& a, const SymInt& b);
int compare(const Atom& a, const Atom& b);
int compare(const Monomial& a, const Monomial& b);

// Rebuilds e from the bottom: every symbol through `symbol`, every call through floordiv/mod/sym_min/sym_max
// again. `call` may replace a rebuilt call; it returns nullopt to keep it.
template <class SymbolFn, class CallFn>
SymInt rebuild(const SymInt& e, const SymbolFn& symbol, const CallFn& call);

SymInt make_call(Atom::Kind kind, std::span<const SymInt> args);

template <class SymbolFn, class CallFn>
SymInt rebuild_atom(const AtomRef& atom, const SymbolFn& symbol, const CallFn& call) {
  if (atom->kind == Atom::Kind::kSymbol) return symbol(atom->symbol);
  if (atom->kind == Atom::Kind::kUndefined) return SymInt::undefined();
  std::vector<SymInt> args;
  for (const SymInt& arg : atom->args) args.push_back(rebuild(arg, symbol, call));
  if (std::optional<SymInt> replaced = call(atom->kind, std::span<const SymInt>(args))) return *replaced;
  return make_call(atom->kind, args);
}

template <class SymbolFn, class CallFn>
SymInt rebuild(const SymInt& e, const SymbolFn& symbol, const CallFn& call) {
  if (e.is_constant()) return e;
  SymInt sum = SymIntAccess::offset(e);
  for (const Term& term : SymIntAccess::terms(e)) {
    SymInt product = term.coefficient;
    for (const AtomRef& atom : term.atoms) product = product * rebuild_atom(atom, symbol, call);
    sum = sum + product;
  }
  return sum;
}

// Interval arithmetic; INT64_MIN and INT64_MAX absorb, and stand for bounds beyond them, too.
Interval add(Interval a, Interval b);
Interval multiply(Interval a, Interval b);
Interval intersect(Interval a, Interval b);
// Bounds of e when symbol s lies in symbol_ranges[s].
Interval range_of(const SymInt& e, std::span<const Interval> symbol_ranges);
// True when evaluate() has a value for all symbol values in their ranges.
bool always_fits(const SymInt& e, std::span<const Interval> symbol_ranges);

}  // namespace suture
