// Canonical arithmetic on symbolic integers.
//
// How it works: addition merges two sorted term lists, multiplication distributes, so equal polynomials get
// equal representations. Calls (floordiv, mod, min, max) are simplified by identities that hold for all
// integers and otherwise become atoms, whose arguments are canonical themselves. Simplifications that need
// ranges live in ShapeEnv::simplify.
#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "sym/poly.h"

namespace suture {

namespace {

bool add_overflows(int64_t a, int64_t b, int64_t& out) { return __builtin_add_overflow(a, b, &out); }
bool mul_overflows(int64_t a, int64_t b, int64_t& out) { return __builtin_mul_overflow(a, b, &out); }

int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

bool term_before(const Term& a, const Term& b) { return compare(a.atoms, b.atoms) < 0; }
bool atom_before(const AtomRef& a, const AtomRef& b) { return compare(*a, *b) < 0; }

SymInt make_atom(Atom::Kind kind, std::vector<SymInt> args) {
  return SymIntAccess::atom(std::make_shared<const Atom>(Atom{kind, -1, std::move(args)}));
}

// The quotient when every term of a is divisible by the single term b; nullopt otherwise.
std::optional<SymInt> divide_by_term(const SymInt& a, const Term& b) {
  if (SymIntAccess::offset(a) != 0) return std::nullopt;
  SymInt quotient = 0;
  for (const Term& term : SymIntAccess::terms(a)) {
    if (term.coefficient % b.coefficient != 0) return std::nullopt;
    Monomial rest;
    std::set_difference(term.atoms.begin(), term.atoms.end(), b.atoms.begin(), b.atoms.end(),
                        std::back_inserter(rest), atom_before);
    if (rest.size() + b.atoms.size() != term.atoms.size()) return std::nullopt;
    int64_t c = term.coefficient / b.coefficient;
    quotient = quotient + (rest.empty() ? SymInt(c) : SymIntAccess::make({{c, std::move(rest)}}, 0));
  }
  return quotient;
}

// a = multiple * divisor + rest with the coefficients of rest in [0, divisor).
std::pair<SymInt, SymInt> split_by_constant(const SymInt& a, int64_t divisor) {
  std::vector<Term> multiple, rest;
  for (const Term& term : SymIntAccess::terms(a)) {
    int64_t q = floor_div(term.coefficient, divisor), r = floor_mod(term.coefficient, divisor);
    if (q != 0) multiple.push_back({q, term.atoms});
    if (r != 0) rest.push_back({r, term.atoms});
  }
  int64_t offset = SymIntAccess::offset(a);
  return {SymIntAccess::make(std::move(multiple), floor_div(offset, divisor)),
          SymIntAccess::make(std::move(rest), floor_mod(offset, divisor))};
}

// Greatest common divisor of all coefficients, the constant included.
int64_t content(const SymInt& a) {
  int64_t g = SymIntAccess::offset(a);
  for (const Term& term : SymIntAccess::terms(a)) g = std::gcd(g, term.coefficient);
  return g;
}

SymInt divide_exactly(const SymInt& a, int64_t divisor) {
  std::vector<Term> terms(SymIntAccess::terms(a).begin(), SymIntAccess::terms(a).end());
  for (Term& term : terms) term.coefficient /= divisor;
  return SymIntAccess::make(std::move(terms), SymIntAccess::offset(a) / divisor);
}

// Set when e is exactly one call of `kind`.
const Atom* as_call(const SymInt& e, Atom::Kind kind) {
  std::span<const Term> terms = SymIntAccess::terms(e);
  if (terms.size() != 1 || SymIntAccess::offset(e) != 0) return nullptr;
  if (terms[0].coefficient != 1 || terms[0].atoms.size() != 1) return nullptr;
  return terms[0].atoms[0]->kind == kind ? terms[0].atoms[0].get() : nullptr;
}

SymInt floordiv_by_constant(const SymInt& a, int64_t divisor) {
  if (divisor == 0) return SymInt::undefined();
  if (divisor < 0) return divisor == INT64_MIN ? SymInt::undefined() : floordiv_by_constant(-a, -divisor);
  auto [multiple, rest] = split_by_constant(a, divisor);
  if (rest.is_constant()) return multiple;  // 0 <= rest < divisor
  int64_t g = std::gcd(content(rest), divisor);
  if (g > 1) return multiple + floordiv_by_constant(divide_exactly(rest, g), divisor / g);
  if (const Atom* inner = as_call(rest, Atom::Kind::kFloorDiv)) {
    std::optional<int64_t> c = inner->args[1].constant();
    int64_t both;
    if (c && *c > 0 && !mul_overflows(*c, divisor, both)) {
      return multiple + floordiv_by_constant(inner->args[0], both);
    }
  }
  return multiple + make_atom(Atom::Kind::kFloorDiv, {rest, divisor});
}

SymInt mod_by_constant(const SymInt& a, int64_t divisor) {
  if (divisor == 0 || divisor == INT64_MIN) return SymInt::undefined();
  if (divisor < 0) return -mod_by_constant(-a, -divisor);
  SymInt rest = split_by_constant(a, divisor).second;
  if (rest.is_constant()) return rest;
  int64_t g = std::gcd(content(rest), divisor);
  if (g > 1) return SymInt(g) * mod_by_constant(divide_exactly(rest, g), divisor / g);
  return make_atom(Atom::Kind::kMod, {rest, divisor});
}

// min and max share everything but the direction: keep the args that no other arg beats by a constant
// distance.
SymInt select(Atom::Kind kind, const SymInt& a, const SymInt& b) {
  if (!a.defined() || !b.defined()) return SymInt::undefined();
  std::vector<SymInt> args;
  for (const SymInt* side : {&a, &b}) {
    if (const Atom* call = as_call(*side, kind)) {
      args.insert(args.end(), call->args.begin(), call->args.end());
    } else {
      args.push_back(*side);
    }
  }
  auto beaten = [&](size_t i) {
    for (size_t j = 0; j < args.size(); ++j) {
      std::optional<int64_t> d = j == i ? std::nullopt : (args[i] - args[j]).constant();
      if (!d) continue;
      if (*d == 0 ? j < i : (kind == Atom::Kind::kMin) == (*d > 0)) return true;
    }
    return false;
  };
  std::vector<SymInt> kept;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!beaten(i)) kept.push_back(args[i]);
  }
  if (kept.size() == 1) return kept[0];
  std::sort(kept.begin(), kept.end(), [](const SymInt& x, const SymInt& y) { return compare(x, y) < 0; });
  return make_atom(kind, std::move(kept));
}

// No coefficient is the most negative int64, so that negation and gcd are always defined.
bool negatable(const std::vector<Term>& terms, int64_t offset) {
  return offset != INT64_MIN &&
         std::none_of(terms.begin(), terms.end(), [](const Term& t) { return t.coefficient == INT64_MIN; });
}

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

std::optional<int64_t> narrowed(__int128 v) {
  if (v > INT64_MAX || v < INT64_MIN) return std::nullopt;
  return static_cast<int64_t>(v);
}

std::optional<int64_t> apply(Atom::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Atom::Kind::kMin: return std::min(a, b);
    case Atom::Kind::kMax: return std::max(a, b);
    default: break;
  }
  if (b == 0) return std::nullopt;
  if (b == -1) return kind == Atom::Kind::kMod ? 0 : narrowed(-static_cast<__int128>(a));
  return kind == Atom::Kind::kMod ? floor_mod(a, b) : floor_div(a, b);
}

std::optional<int64_t> evaluate_atom(const Atom& atom, std::span<const int64_t> values) {
  if (atom.kind == Atom::Kind::kSymbol) return values[static_cast<size_t>(atom.symbol)];
  if (atom.kind == Atom::Kind::kUndefined) return std::nullopt;
  std::optional<int64_t> result = atom.args[0].evaluate(values);
  for (size_t i = 1; i < atom.args.size() && result; ++i) {
    std::optional<int64_t> next = atom.args[i].evaluate(values);
    if (!next) return std::nullopt;
    result = apply(atom.kind, *result, *next);
  }
  return result;
}

void collect(const SymInt& e, std::vector<SymbolId>& out) {
  for (const Term& term : SymIntAccess::terms(e)) {
    for (const AtomRef& atom : term.atoms) {
      if (atom->kind == Atom::Kind::kSymbol) out.push_back(atom->symbol);
      for (const SymInt& arg : atom->args) collect(arg, out);
    }
  }
}

}  // namespace

std::span<const Term> SymIntAccess::terms(const SymInt& e) {
  return e.poly_ ? std::span<const Term>(e.poly_->terms) : std::span<const Term>();
}

SymInt SymIntAccess::make(std::vector<Term> terms, int64_t offset) {
  std::sort(terms.begin(), terms.end(), term_before);
  std::vector<Term> merged;
  for (Term& term : terms) {
    if (!merged.empty() && compare(merged.back().atoms, term.atoms) == 0) {
      int64_t& c = merged.back().coefficient;
      if (add_overflows(c, term.coefficient, c)) return SymInt::undefined();
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  SymInt result = offset;
  if (!merged.empty() && !negatable(merged, offset)) return SymInt::undefined();
  if (!merged.empty()) result.poly_ = std::make_shared<const SymInt::Poly>(SymInt::Poly{std::move(merged)});
  return result;
}

SymInt SymIntAccess::atom(AtomRef atom) { return make({{1, {std::move(atom)}}}, 0); }

int compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (int c = three_way(a.kind, b.kind)) return c;
  if (int c = three_way(a.symbol, b.symbol)) return c;
  if (int c = three_way(a.args.size(), b.args.size())) return c;
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (int c = compare(a.args[i], b.args[i])) return c;
  }
  return 0;
}

int compare(const Monomial& a, const Monomial& b) {
  if (int c = three_way(b.size(), a.size())) return c;  // higher degree first, as polynomials are written
  for (size_t i = 0; i < a.size(); ++i) {
    if (int c = compare(*a[i], *b[i])) return c;
  }
  return 0;
}

int compare(const SymInt& a, const SymInt& b) {
  std::span<const Term> x = SymIntAccess::terms(a), y = SymIntAccess::terms(b);
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (int c = compare(x[i].atoms, y[i].atoms)) return c;
    if (int c = three_way(x[i].coefficient, y[i].coefficient)) return c;
  }
  if (int c = three_way(y.size(), x.size())) return c;
  return three_way(SymIntAccess::offset(a), SymIntAccess::offset(b));
}

SymInt::SymInt(int64_t constant) : constant_(constant) {}

SymInt SymInt::symbol(SymbolId id) {
  return SymIntAccess::atom(std::make_shared<const Atom>(Atom{Atom::Kind::kSymbol, id, {}}));
}

SymInt SymInt::undefined() { return make_atom(Atom::Kind::kUndefined, {}); }

bool SymInt::defined() const {
  if (!poly_) return true;
  // An undefined operand makes the whole result the undefined value, so it can only stand alone.
  return poly_->terms[0].atoms[0]->kind != Atom::Kind::kUndefined;
}

std::optional<int64_t> SymInt::constant() const {
  if (poly_) return std::nullopt;
  return constant_;
}

std::optional<SymbolId> SymInt::as_symbol() const {
  const Atom* atom = as_call(*this, Atom::Kind::kSymbol);
  if (!atom) return std::nullopt;
  return atom->symbol;
}

void SymInt::collect_symbols(std::vector<SymbolId>& out) const {
  collect(*this, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

SymInt SymInt::substitute(std::span<const SymInt> values) const {
  auto symbol = [&](SymbolId id) {
    return static_cast<size_t>(id) < values.size() ? values[static_cast<size_t>(id)] : SymInt::symbol(id);
  };
  return rebuild(*this, symbol, [](Atom::Kind, std::span<const SymInt>) { return std::optional<SymInt>(); });
}

std::optional<int64_t> SymInt::evaluate(std::span<const int64_t> symbol_values) const {
  __int128 sum = constant_;
  for (const Term& term : SymIntAccess::terms(*this)) {
    __int128 product = term.coefficient;
    for (const AtomRef& atom : term.atoms) {
      std::optional<int64_t> factor = evaluate_atom(*atom, symbol_values);
      if (!factor || __builtin_mul_overflow(product, static_cast<__int128>(*factor), &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return narrowed(sum);
}

size_t SymInt::atom_count() const {
  size_t count = 0;
  for (const Term& term : SymIntAccess::terms(*this)) {
    count += term.atoms.size();
    for (const AtomRef& atom : term.atoms)
      for (const SymInt& arg : atom->args) count += arg.atom_count();
  }
  return count;
}

uint64_t SymInt::hash() const {
  uint64_t h = hash_combine(0x51ed270b, static_cast<uint64_t>(constant_));
  for (const Term& term : SymIntAccess::terms(*this)) {
    h = hash_combine(h, static_cast<uint64_t>(term.coefficient));
    for (const AtomRef& atom : term.atoms) {
      h = hash_combine(h, static_cast<uint64_t>(atom->kind) * 1000003u + static_cast<uint64_t>(atom->symbol));
      for (const SymInt& arg : atom->args) h = hash_combine(h, arg.hash());
    }
  }
  return h;
}

bool operator==(const SymInt& a, const SymInt& b) {
  if (!a.poly_ && !b.poly_) return a.constant_ == b.constant_;
  if (a.poly_ == b.poly_ && a.constant_ == b.constant_) return a.defined();
  return a.defined() && compare(a, b) == 0;
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  if (!a.defined() || !b.defined()) return SymInt::undefined();
  int64_t offset;
  if (add_overflows(a.constant_, b.constant_, offset)) return SymInt::undefined();
  if (!a.poly_ || !b.poly_) {
    SymInt result = a.poly_ ? a : b;
    if (result.poly_ && offset == INT64_MIN) return SymInt::undefined();
    result.constant_ = offset;
    return result;
  }
  std::vector<Term> terms = a.poly_->terms;
  terms.insert(terms.end(), b.poly_->terms.begin(), b.poly_->terms.end());
  return SymIntAccess::make(std::move(terms), offset);
}

SymInt operator-(const SymInt& a) { return SymInt(-1) * a; }
SymInt operator-(const SymInt& a, const SymInt& b) {
  if (!a.poly_ && !b.poly_) {
    int64_t difference;
    if (!__builtin_sub_overflow(a.constant_, b.constant_, &difference)) return difference;
    return SymInt::undefined();
  }
  return a + -b;
}

SymInt operator*(const SymInt& a, const SymInt& b) {
  if (!a.defined() || !b.defined()) return SymInt::undefined();
  int64_t offset;
  if (mul_overflows(a.constant_, b.constant_, offset)) return SymInt::undefined();
  std::vector<Term> terms;
  auto add_product = [&](int64_t x, int64_t y, const Monomial& p, const Monomial& q) {
    int64_t c;
    if (mul_overflows(x, y, c)) return false;
    Monomial atoms;
    std::merge(p.begin(), p.end(), q.begin(), q.end(), std::back_inserter(atoms), atom_before);
    terms.push_back({c, std::move(atoms)});
    return true;
  };
  for (const Term& t : SymIntAccess::terms(a)) {
    if (b.constant_ != 0 && !add_product(t.coefficient, b.constant_, t.atoms, {})) return SymInt::undefined();
    for (const Term& u : SymIntAccess::terms(b)) {
      if (!add_product(t.coefficient, u.coefficient, t.atoms, u.atoms)) return SymInt::undefined();
    }
  }
  for (const Term& u : SymIntAccess::terms(b)) {
    if (a.constant_ != 0 && !add_product(a.constant_, u.coefficient, {}, u.atoms)) return SymInt::undefined();
  }
  return SymIntAccess::make(std::move(terms), offset);
}

SymInt floordiv(const SymInt& a, const SymInt& b) {
  if (!a.defined() || !b.defined()) return SymInt::undefined();
  if (a.is_constant() && b.is_constant() && a.constant_ == INT64_MIN && b.constant_ == -1)
    return SymInt::undefined();
  if (b.is_constant()) return floordiv_by_constant(a, b.constant_);
  if (a == SymInt(0)) return 0;
  std::span<const Term> divisor = SymIntAccess::terms(b);
  if (a == b) return 1;
  if (divisor.size() == 1 && SymIntAccess::offset(b) == 0) {
    if (std::optional<SymInt> quotient = divide_by_term(a, divisor[0])) return *quotient;
  }
  return make_atom(Atom::Kind::kFloorDiv, {a, b});
}

SymInt mod(const SymInt& a, const SymInt& b) {
  if (!a.defined() || !b.defined()) return SymInt::undefined();
  if (b.is_constant()) return mod_by_constant(a, b.constant_);
  std::span<const Term> divisor = SymIntAccess::terms(b);
  if (a == SymInt(0) || a == b) return 0;
  if (divisor.size() == 1 && SymIntAccess::offset(b) == 0 && divide_by_term(a, divisor[0])) return 0;
  return make_atom(Atom::Kind::kMod, {a, b});
}

SymInt sym_min(const SymInt& a, const SymInt& b) { return select(Atom::Kind::kMin, a, b); }
SymInt sym_max(const SymInt& a, const SymInt& b) { return select(Atom::Kind::kMax, a, b); }

SymInt make_call(Atom::Kind kind, std::span<const SymInt> args) {
  if (kind == Atom::Kind::kFloorDiv) return floordiv(args[0], args[1]);
  if (kind == Atom::Kind::kMod) return mod(args[0], args[1]);
  SymInt result = args[0];
  for (size_t i = 1; i < args.size(); ++i) result = select(kind, result, args[i]);
  return result;
}

SymInt product(std::span<const SymInt> dims) {
  SymInt result = 1;
  for (const SymInt& dim : dims) result = result * dim;
  return result;
}

}  // namespace suture
