// Bounds of symbolic integers from the ranges of their symbols.
//
// How it works: plain interval arithmetic forgets that two terms share a symbol: it cannot see that s0*s1 -
// s1 > 0. So every atom with a finite lower bound lo is also written as lo + t with t >= 0 and the polynomial
// is multiplied out; the sum of the terms' intervals is then often exact. Both results hold, and their
// intersection is the answer.
#include <algorithm>

#include "sym/poly.h"

namespace suture {

namespace {

constexpr int64_t kLow = INT64_MIN, kHigh = INT64_MAX;

int64_t saturated_add(int64_t a, int64_t b, int64_t unbounded) {
  if (a == unbounded || b == unbounded) return unbounded;
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) return a > 0 ? kHigh : kLow;
  return out;
}

int64_t saturated_multiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t out;
  bool unbounded = a == kLow || a == kHigh || b == kLow || b == kHigh;
  if (unbounded || __builtin_mul_overflow(a, b, &out)) return (a > 0) == (b > 0) ? kHigh : kLow;
  return out;
}

// `unbounded` is the end that stays; a saturated lower bound kHigh is a number like others.
int64_t bound_floor_div(int64_t bound, int64_t divisor, int64_t unbounded) {
  if (bound == unbounded) return bound;
  int64_t q = bound / divisor;
  return bound % divisor != 0 && bound < 0 ? q - 1 : q;
}

Interval range_of_division(const Atom& atom, std::span<const Interval> ranges) {
  Interval a = range_of(atom.args[0], ranges), b = range_of(atom.args[1], ranges);
  if (b.lo < 1) return {};
  if (atom.kind == Atom::Kind::kMod) {
    int64_t top = b.hi == kHigh ? kHigh : b.hi - 1;
    return {0, a.lo >= 0 ? std::min(top, a.hi) : top};
  }
  if (b.lo == b.hi) return {bound_floor_div(a.lo, b.lo, kLow), bound_floor_div(a.hi, b.lo, kHigh)};
  if (a.lo >= 0) return {0, bound_floor_div(a.hi, b.lo, kHigh)};
  return {};
}

Interval range_of(const Atom& atom, std::span<const Interval> ranges) {
  switch (atom.kind) {
    case Atom::Kind::kSymbol: return ranges[static_cast<size_t>(atom.symbol)];
    case Atom::Kind::kUndefined: return {};
    case Atom::Kind::kFloorDiv:
    case Atom::Kind::kMod: return range_of_division(atom, ranges);
    default: break;
  }
  Interval out = range_of(atom.args[0], ranges);
  for (size_t i = 1; i < atom.args.size(); ++i) {
    Interval next = range_of(atom.args[i], ranges);
    if (atom.kind == Atom::Kind::kMin) {
      out = {std::min(out.lo, next.lo), std::min(out.hi, next.hi)};
    } else {
      out = {std::max(out.lo, next.lo), std::max(out.hi, next.hi)};
    }
  }
  return out;
}

// The range of each atom of one expression, found once: atoms nest, and each level asks three times.
class AtomRanges {
 public:
  AtomRanges(const SymInt& e, std::span<const Interval> ranges) {
    for (const Term& term : SymIntAccess::terms(e))
      for (const AtomRef& atom : term.atoms)
        if (find(*atom) == known_.end()) known_.emplace_back(atom.get(), range_of(*atom, ranges));
  }
  Interval operator()(const Atom& atom) const { return find(atom)->second; }

 private:
  using Known = std::vector<std::pair<const Atom*, Interval>>;
  Known::const_iterator find(const Atom& atom) const {
    return std::ranges::find(known_, &atom, &Known::value_type::first);
  }
  Known known_;
};

Interval range_of_terms(const SymInt& e, const auto& atom_range) {
  Interval sum{SymIntAccess::offset(e), SymIntAccess::offset(e)};
  for (const Term& term : SymIntAccess::terms(e)) {
    Interval product{term.coefficient, term.coefficient};
    for (const AtomRef& atom : term.atoms) product = multiply(product, atom_range(*atom));
    sum = add(sum, product);
  }
  return sum;
}

// Bounds of e with every atom that has a finite lower bound lo replaced by lo + itself; none when coefficients
// overflow. The products share the atoms of e.
Interval range_when_shifted(const SymInt& e, const AtomRanges& atom_range) {
  SymInt sum = SymIntAccess::offset(e);
  for (const Term& term : SymIntAccess::terms(e)) {
    SymInt product = term.coefficient;
    for (const AtomRef& atom : term.atoms) {
      const int64_t lo = atom_range(*atom).lo;
      product = product * (SymIntAccess::atom(atom) + SymInt(lo == kLow ? 0 : lo));
    }
    sum = sum + product;
  }
  if (!sum.defined()) return {};
  return range_of_terms(sum, [&](const Atom& atom) {
    const Interval r = atom_range(atom);
    if (r.lo == kLow) return r;
    return Interval{0, r.hi == kHigh ? kHigh : saturated_add(r.hi, -r.lo, kHigh)};
  });
}

}  // namespace

Interval add(Interval a, Interval b) {
  return {saturated_add(a.lo, b.lo, kLow), saturated_add(a.hi, b.hi, kHigh)};
}

Interval multiply(Interval a, Interval b) {
  int64_t p[] = {saturated_multiply(a.lo, b.lo), saturated_multiply(a.lo, b.hi),
                 saturated_multiply(a.hi, b.lo), saturated_multiply(a.hi, b.hi)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

Interval intersect(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

Interval range_of(const SymInt& e, std::span<const Interval> symbol_ranges) {
  if (std::optional<int64_t> c = e.constant()) return {*c, *c};
  if (!e.defined()) return {};
  const AtomRanges atom_range(e, symbol_ranges);
  const Interval plain = range_of_terms(e, atom_range);
  if (SymIntAccess::terms(e).size() < 2) return plain;
  return intersect(plain, range_when_shifted(e, atom_range));
}

bool always_fits(const SymInt& e, std::span<const Interval> symbol_ranges) {
  if (!e.defined()) return false;
  if (e.is_constant() || e.as_symbol()) return true;
  const Interval range = range_of(e, symbol_ranges);
  if (range.lo == kLow || range.hi == kHigh) return false;
  const auto operands_fit = [&](const AtomRef& atom) {
    return std::ranges::all_of(atom->args,
                               [&](const SymInt& arg) { return always_fits(arg, symbol_ranges); });
  };
  return std::ranges::all_of(SymIntAccess::terms(e),
                             [&](const Term& term) { return std::ranges::all_of(term.atoms, operands_fit); });
}

}  // namespace suture
