// ShapeEnv: questions about symbolic sizes, and the facts that become guards.
//
// How it works
//   proves() looks at d = a - b in simplified form: its constant value, its range, and the facts whose
//   difference has the same symbolic part. ask() answers by proof when it can; otherwise it evaluates d at
//   the hints, records the relation that made the answer true, and learns from it: an equality solved for a
//   symbol replaces that symbol from then on, an inequality over one symbol narrows its range. So the same
//   question is never recorded twice.
// Invariants
//   Every recorded fact holds at the hints. Derived knowledge (ranges_, replacements_) follows from symbols_
//   and facts_.
#include <algorithm>
#include <numeric>

#include "sym/poly.h"

namespace suture {

namespace {

// Same symbolic part up to a sign? Then d = sign * other + gap.
struct Match {
  int sign = 0;  // 0: no match
  int64_t gap = 0;
};
Match match(const SymInt& d, const SymInt& other) {
  if (std::optional<int64_t> gap = (d - other).constant()) return {1, *gap};
  if (std::optional<int64_t> gap = (d + other).constant()) return {-1, *gap};
  return {};
}

// Values of `lhs - rhs` that the relation allows; kNe allows all but one and is handled apart.
Interval allowed(Relation relation) {
  switch (relation) {
    case Relation::kEq: return {0, 0};
    case Relation::kLt: return {INT64_MIN, -1};
    case Relation::kLe: return {INT64_MIN, 0};
    case Relation::kNe:
    case Relation::kFits: break;
  }
  return {};
}

// d is never 0 when its coefficients share a divisor that its constant lacks: 2*s0 + 1.
bool never_zero_by_divisibility(const SymInt& d) {
  int64_t g = 0;
  for (const Term& term : SymIntAccess::terms(d)) g = std::gcd(g, term.coefficient);
  return g > 1 && SymIntAccess::offset(d) % g != 0;
}

ShapeFact negated(const ShapeFact& fact) {
  switch (fact.relation) {
    case Relation::kEq: return {Relation::kNe, fact.lhs, fact.rhs, fact.where};
    case Relation::kNe: return {Relation::kEq, fact.lhs, fact.rhs, fact.where};
    case Relation::kLt: return {Relation::kLe, fact.rhs, fact.lhs, fact.where};
    case Relation::kLe: return {Relation::kLt, fact.rhs, fact.lhs, fact.where};
    case Relation::kFits: break;
  }
  return fact;  // never asked: fits() records only what holds
}

// Expressions with more atoms are not kept: int arithmetic that feeds itself doubles them at every step.
constexpr size_t kMostAtoms = 32;

// What "c*s + k fits int64" says about s.
struct FitBound {
  SymbolId symbol;
  Interval interval;
};
std::optional<FitBound> bound_by_fit(const SymInt& e) {
  std::span<const Term> terms = SymIntAccess::terms(e);
  if (terms.size() != 1 || terms[0].atoms.size() != 1 || terms[0].atoms[0]->kind != Atom::Kind::kSymbol)
    return std::nullopt;
  const __int128 c = terms[0].coefficient, k = SymIntAccess::offset(e);
  __int128 low = (INT64_MIN - k) / c, high = (INT64_MAX - k) / c;  // towards zero, which is inside
  if (c < 0) std::swap(low, high);
  const auto clamped = [](__int128 v) {
    return static_cast<int64_t>(std::clamp<__int128>(v, INT64_MIN, INT64_MAX));
  };
  return FitBound{terms[0].atoms[0]->symbol, {clamped(low), clamped(high)}};
}

}  // namespace

std::string ShapeFact::str() const {
  if (relation == Relation::kFits) return lhs.str() + " fits int64";
  constexpr const char* kSpelling[] = {" == ", " != ", " < ", " <= "};
  return lhs.str() + kSpelling[static_cast<int>(relation)] + rhs.str();
}

bool ShapeFact::holds(std::span<const int64_t> symbol_values) const {
  const std::optional<int64_t> a = lhs.evaluate(symbol_values), b = rhs.evaluate(symbol_values);
  if (!a || !b) return false;
  switch (relation) {
    case Relation::kEq: return *a == *b;
    case Relation::kNe: return *a != *b;
    case Relation::kLt: return *a < *b;
    case Relation::kLe: return *a <= *b;
    case Relation::kFits: break;
  }
  return true;
}

SymInt ShapeEnv::create_symbol(std::string source, int64_t hint, int64_t min, int64_t max, bool is_size) {
  if (is_size) max = std::min(max, kLargestSize);
  SymbolId id = static_cast<SymbolId>(symbols_.size());
  symbols_.push_back({"s" + std::to_string(id), std::move(source), hint, min, max, is_size});
  ranges_.push_back({min, max});
  hints_.push_back(hint);
  SymInt symbol = SymInt::symbol(id);
  replacements_.push_back(symbol);
  return symbol;
}

std::vector<int64_t> ShapeEnv::hints() const { return hints_; }

int64_t ShapeEnv::hint(const SymInt& e) const {
  const std::optional<int64_t> value = e.evaluate(hints_);
  overflowed_ |= !value;
  return value.value_or(0);
}

Interval ShapeEnv::range(const SymInt& e) const { return range_of(simplify(e), ranges_); }

SymInt ShapeEnv::simplify(const SymInt& e) const {
  if (e.is_constant() || !e.defined()) return e;
  if (!replaced_ && e.as_symbol()) return e;
  auto symbol = [&](SymbolId id) { return replacements_[static_cast<size_t>(id)]; };
  auto call = [&](Atom::Kind kind, std::span<const SymInt> args) -> std::optional<SymInt> {
    if (kind == Atom::Kind::kMin || kind == Atom::Kind::kMax) {
      // Drops the side that never wins.
      if (args.size() != 2) return std::nullopt;
      Interval d = range_of(args[0] - args[1], ranges_);
      if (d.hi <= 0) return kind == Atom::Kind::kMin ? args[0] : args[1];
      if (d.lo >= 0) return kind == Atom::Kind::kMin ? args[1] : args[0];
      return std::nullopt;
    }
    Interval a = range_of(args[0], ranges_), b = range_of(args[1], ranges_);
    if (a.lo < 0 || b.lo <= a.hi) return std::nullopt;
    return kind == Atom::Kind::kFloorDiv ? SymInt(0) : args[0];  // 0 <= a < b
  };
  SymInt simple = rebuild(e, symbol, call);
  return simple.defined() ? simple : e;
}

std::optional<bool> ShapeEnv::proves(Relation relation, const SymInt& a, const SymInt& b) const {
  if (relation == Relation::kNe) {
    std::optional<bool> equal = proves(Relation::kEq, a, b);
    if (!equal) return std::nullopt;
    return !*equal;
  }
  if (relation == Relation::kFits) return always_fits(a, ranges_) ? std::optional(true) : std::nullopt;
  SymInt d = simplify(a - b);
  if (!d.defined()) return std::nullopt;
  Interval bounds = range_of(d, ranges_);
  bool never_zero = never_zero_by_divisibility(d);
  if (!d.is_constant()) {
    for (size_t i = 0; i < facts_.size(); ++i) {
      const ShapeFact& fact = facts_[i];
      Match m = match(d, differences_[i]);
      if (m.sign == 0) continue;
      if (fact.relation == Relation::kNe) {
        never_zero |= m.gap == 0;
      } else {
        bounds = intersect(bounds, add(multiply(allowed(fact.relation), {m.sign, m.sign}), {m.gap, m.gap}));
      }
    }
  }
  // A bound that is excluded moves by one: s0 <= 8 and s0 != 8 give s0 < 8.
  if (never_zero && bounds.hi == 0) bounds.hi = -1;
  if (never_zero && bounds.lo == 0) bounds.lo = 1;
  switch (relation) {
    case Relation::kEq:
      if (bounds.lo == 0 && bounds.hi == 0) return true;
      if (bounds.lo > 0 || bounds.hi < 0 || never_zero) return false;
      return std::nullopt;
    case Relation::kLt:
      if (bounds.hi < 0) return true;
      if (bounds.lo >= 0) return false;
      return std::nullopt;
    default:
      if (bounds.hi <= 0) return true;
      if (bounds.lo > 0) return false;
      return std::nullopt;
  }
}

bool ShapeEnv::ask(Relation relation, const SymInt& a, const SymInt& b) {
  if (a.is_constant() && b.is_constant()) return ShapeFact{relation, a, b, {}}.holds({});
  if (std::optional<bool> proven = proves(relation, a, b)) return *proven;
  if (!a.evaluate(hints_) || !b.evaluate(hints_)) {
    overflowed_ = true;
    return false;
  }
  ShapeFact fact{relation, a, b, place_};
  bool answer = fact.holds(hints_);
  if (!answer) fact = negated(fact);
  assume(std::move(fact));
  return answer;
}

bool ShapeEnv::eq(const SymInt& a, const SymInt& b) { return ask(Relation::kEq, a, b); }
bool ShapeEnv::lt(const SymInt& a, const SymInt& b) { return ask(Relation::kLt, a, b); }
bool ShapeEnv::le(const SymInt& a, const SymInt& b) { return ask(Relation::kLe, a, b); }

int64_t ShapeEnv::specialize(const SymInt& e) {
  int64_t value = hint(e);
  eq(e, value);
  return value;
}

bool ShapeEnv::fits(const SymInt& e) {
  if (!e.defined() || e.atom_count() > kMostAtoms || !e.evaluate(hints_)) return false;
  if (proves(Relation::kFits, e, 0)) return true;
  const auto says_so = [&](const ShapeFact& fact) {
    return fact.relation == Relation::kFits && fact.lhs == e;
  };
  if (std::ranges::any_of(facts_, says_so)) return true;
  drop_fits_implied_by(e);
  assume({Relation::kFits, e, 0, place_});
  return true;
}

// A loop that multiplies n leaves one fact, not one per turn.
void ShapeEnv::drop_fits_implied_by(const SymInt& e) {
  const std::optional<FitBound> bound = bound_by_fit(e);
  for (size_t i = facts_.size(); bound && i-- > 0;) {
    if (facts_[i].relation != Relation::kFits) continue;
    const std::optional<FitBound> older = bound_by_fit(facts_[i].lhs);
    if (!older || older->symbol != bound->symbol) continue;
    if (intersect(older->interval, bound->interval) != bound->interval) continue;
    facts_.erase(facts_.begin() + static_cast<std::ptrdiff_t>(i));
    differences_.erase(differences_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void ShapeEnv::assume(ShapeFact fact) {
  differences_.push_back(simplify(fact.lhs - fact.rhs));
  facts_.push_back(std::move(fact));
  learn(facts_.back());
}

void ShapeEnv::learn(const ShapeFact& fact) {
  switch (fact.relation) {
    case Relation::kEq: return learn_equality(differences_.back());
    case Relation::kLt:
    case Relation::kLe: return refine_symbol_ranges(fact);
    case Relation::kFits:
      if (std::optional<FitBound> bound = bound_by_fit(fact.lhs)) {
        Interval& range = ranges_[static_cast<size_t>(bound->symbol)];
        range = intersect(range, bound->interval);
      }
      return;
    case Relation::kNe: return;
  }
}

// difference == 0. Solved for the youngest symbol that occurs once, alone and with coefficient 1 or -1; sizes
// that came later are thereby written in terms of earlier ones.
void ShapeEnv::learn_equality(const SymInt& difference) {
  std::span<const Term> terms = SymIntAccess::terms(difference);
  for (size_t i = terms.size(); i-- > 0;) {
    const Term& term = terms[i];
    bool linear = term.atoms.size() == 1 && term.atoms[0]->kind == Atom::Kind::kSymbol;
    bool only_symbol =
        terms.size() == 1 && linear && SymIntAccess::offset(difference) % term.coefficient == 0;
    if (!linear || (!only_symbol && term.coefficient != 1 && term.coefficient != -1)) continue;
    SymbolId id = term.atoms[0]->symbol;
    SymInt others = difference - SymIntAccess::make({term}, 0);
    std::vector<SymbolId> used;
    others.collect_symbols(used);
    if (std::find(used.begin(), used.end(), id) != used.end()) continue;
    SymInt value = only_symbol ? SymInt(-SymIntAccess::offset(difference) / term.coefficient)
                               : others * SymInt(-term.coefficient);
    Interval own = ranges_[static_cast<size_t>(id)];
    if (std::optional<SymbolId> same = value.as_symbol()) {
      Interval& kept = ranges_[static_cast<size_t>(*same)];
      kept = intersect(kept, own);
    }
    replacements_[static_cast<size_t>(id)] = value;
    replaced_ = true;
    for (SymInt& replacement : replacements_) replacement = replacement.substitute(replacements_);
    for (SymInt& known : differences_) known = known.substitute(replacements_);
    return;
  }
}

// c*s + k <= 0 (or < 0) bounds s.
void ShapeEnv::refine_symbol_ranges(const ShapeFact& fact) {
  SymInt d = differences_.back() + SymInt(fact.relation == Relation::kLt ? 1 : 0);
  std::span<const Term> terms = SymIntAccess::terms(d);
  if (terms.size() != 1 || terms[0].atoms.size() != 1 || terms[0].atoms[0]->kind != Atom::Kind::kSymbol)
    return;
  int64_t c = terms[0].coefficient, k = SymIntAccess::offset(d);
  if (c == INT64_MIN || k == INT64_MIN) return;
  Interval& range = ranges_[static_cast<size_t>(terms[0].atoms[0]->symbol)];
  std::optional<int64_t> bound = floordiv(SymInt(c > 0 ? -k : k), SymInt(c > 0 ? c : -c)).constant();
  if (c > 0) {
    range = intersect(range, {INT64_MIN, *bound});  // s <= floor(-k / c)
  } else {
    // s >= ceil(k / -c)
    bool exact = k % c == 0;
    range = intersect(range, {exact ? *bound : *bound + 1, INT64_MAX});
  }
}

std::string ShapeEnv::names_to_text(const SymInt& e) const {
  std::vector<std::string> names;
  for (const SymbolInfo& symbol : symbols_)
    names.push_back(symbol.source.empty() ? symbol.name : symbol.source);
  return e.python(names);
}

}  // namespace suture
