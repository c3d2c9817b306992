// Symbolic sizes: integers known at compile time, or expressions over symbols that are bound at each call.
//
// Overview
//   SymInt   immutable value: a constant, or a canonical sum of (coefficient * product of atoms).
//            An atom is a symbol or an opaque floordiv/mod/min/max/negation-free call over SymInts.
//            Canonical means: two SymInts that are equal as polynomials compare equal with ==.
//   ShapeEnv owns the symbols of one compile: name, hint (the value in this call), range, and the relations
//            that capture relied on. Asking a question about symbols (`eq`, `lt`, ...) answers from ranges when
//            provable, otherwise from the hints, and then RECORDS the relation, so that it becomes a guard.
// Invariants
//   - An expression stands for the exact integer, as in Python. Its coefficients are int64; where one does not
//     fit (or a divisor is zero) the result is the undefined value: it stays undefined through further
//     arithmetic, equals nothing, proves nothing, and `defined()` is false.
//   - A value that leaves int64 is never replaced by another one: evaluate() has no value then, and a fact
//     about it does not hold. Whoever computes with Python ints asks fits() first.
//   - Symbols that stand for sizes have range >= 2: sizes 0 and 1 are always static, because broadcasting
//     depends on them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/user_span.h"

namespace suture {

using SymbolId = int;

class SymInt {
 public:
  struct Poly;  // sym_int.cpp

  SymInt(int64_t constant = 0);  // NOLINT: implicit on purpose, sizes are written as plain integers
  static SymInt symbol(SymbolId id);

  static SymInt undefined();

  bool defined() const;
  bool is_constant() const { return poly_ == nullptr; }
  std::optional<int64_t> constant() const;
  std::optional<SymbolId> as_symbol() const;               // set when the expression is exactly one symbol
  void collect_symbols(std::vector<SymbolId>& out) const;  // ascending, each once
  // Every symbol s replaced by values[s]; symbols beyond the end stay.
  SymInt substitute(std::span<const SymInt> values) const;

  // Values indexed by SymbolId. Empty when the value or an operand of a call in it does not fit int64, or a
  // divisor is zero; sums and products in between have 128 bits.
  std::optional<int64_t> evaluate(std::span<const int64_t> symbol_values) const;
  // Symbols and calls in it, those in arguments of calls included.
  size_t atom_count() const;
  std::string str() const;  // Python over symbol names: "2*s0 + 1", "s0 // 2", "min(s0, 8)"
  // C++ text; names indexed by SymbolId. Division and selection call sym_floordiv, sym_mod, sym_min, sym_max
  // of the prelude.
  std::string cpp(std::span<const std::string> symbol_names) const;
  std::string python(std::span<const std::string> symbol_names) const;  // str() with other names
  uint64_t hash() const;

  friend bool operator==(const SymInt& a, const SymInt& b);
  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a);

 private:
  friend SymInt floordiv(const SymInt&, const SymInt&);
  friend SymInt mod(const SymInt&, const SymInt&);
  friend SymInt sym_min(const SymInt&, const SymInt&);
  friend SymInt sym_max(const SymInt&, const SymInt&);
  friend struct SymIntAccess;
  int64_t constant_ = 0;
  std::shared_ptr<const Poly> poly_;  // null for constants
};

// Python's floor division and modulo. b must not be able to become 0 (the caller has asked): a*b // b is
// simplified to a.
SymInt floordiv(const SymInt& a, const SymInt& b);
SymInt mod(const SymInt& a, const SymInt& b);
SymInt sym_min(const SymInt& a, const SymInt& b);
SymInt sym_max(const SymInt& a, const SymInt& b);
// Product of all; 1 when empty.
SymInt product(std::span<const SymInt> dims);

enum class Relation : uint8_t { kEq, kNe, kLt, kLe, kFits };

// A relation capture relied on: lhs REL rhs, or "lhs has a value in int64" (kFits; rhs is 0). Becomes a guard.
struct ShapeFact {
  Relation relation;
  SymInt lhs, rhs;
  UserSpan where;
  std::string str() const;  // "s0 + 1 <= 64"
  bool holds(std::span<const int64_t> symbol_values) const;
  friend bool operator==(const ShapeFact&, const ShapeFact&) = default;
};

// Closed interval; INT64_MIN and INT64_MAX stand for unbounded.
struct Interval {
  int64_t lo = INT64_MIN;
  int64_t hi = INT64_MAX;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Symbols for sizes end here, so that a size plus or times a small number provably fits int64. No array in
// memory has more elements along an axis; one of repeated elements keeps its size static.
inline constexpr int64_t kLargestSize = int64_t{1} << 48;

struct SymbolInfo {
  std::string name;    // "s0"
  std::string source;  // "x.shape[0]" - for messages
  int64_t hint = 0;
  int64_t min = 2;
  int64_t max = INT64_MAX;
  bool is_size = true;  // false: a Python int argument or a stride (any value)
  bool ends_at_largest() const { return max == (is_size ? kLargestSize : INT64_MAX); }
  friend bool operator==(const SymbolInfo&, const SymbolInfo&) = default;
};

class ShapeEnv {
 public:
  SymInt create_symbol(std::string source, int64_t hint, int64_t min, int64_t max, bool is_size);
  const std::vector<SymbolInfo>& symbols() const { return symbols_; }
  const std::vector<ShapeFact>& facts() const { return facts_; }
  std::vector<int64_t> hints() const;
  int64_t hint(const SymInt& e) const;  // 0 and overflowed() when e has no value in int64
  void set_place(const UserSpan& place) {
    place_ = place;
  }  // user line blamed for facts recorded from now on

  // Questions. Proven answers record nothing; others are answered by the hint and recorded.
  bool eq(const SymInt& a, const SymInt& b);
  bool lt(const SymInt& a, const SymInt& b);
  bool le(const SymInt& a, const SymInt& b);
  // Forces a concrete value: records e == hint.
  int64_t specialize(const SymInt& e);
  // True when e has a value in int64 in this call and is small enough to work with; recorded unless provable.
  // False: e must not be used; Python computes it from its operands.
  bool fits(const SymInt& e);
  // A question was about values that leave int64: its answer means nothing, and nothing was recorded.
  bool overflowed() const { return overflowed_; }
  // Answers only when provable from ranges and algebra; records nothing.
  std::optional<bool> proves(Relation relation, const SymInt& a, const SymInt& b) const;
  // Text over the symbols' sources, for messages: "x.shape[0] + 1".
  std::string names_to_text(const SymInt& e) const;
  // The same value in fewer symbols and atoms, using ranges and the facts recorded so far.
  SymInt simplify(const SymInt& e) const;
  Interval range(const SymInt& e) const;
  // Adds a fact that is already known to be a guard (parse.h restores graphs with it).
  void assume(ShapeFact fact);

  friend bool operator==(const ShapeEnv& a, const ShapeEnv& b) {
    return a.symbols_ == b.symbols_ && a.facts_ == b.facts_;
  }

 private:
  bool ask(Relation relation, const SymInt& a, const SymInt& b);
  void drop_fits_implied_by(const SymInt& e);
  void learn(const ShapeFact& fact);
  void learn_equality(const SymInt& difference);
  void refine_symbol_ranges(const ShapeFact& fact);
  std::vector<SymbolInfo> symbols_;
  std::vector<ShapeFact> facts_;
  // Derived from symbols_ and facts_ to answer questions; never read elsewhere.
  std::vector<Interval> ranges_;     // per symbol, narrowed by facts
  std::vector<SymInt> differences_;  // per fact: lhs - rhs, simplified
  std::vector<SymInt>
      replacements_;  // per symbol: what equality facts say it equals (itself when nothing is known)
  std::vector<int64_t> hints_;
  bool replaced_ = false;
  mutable bool overflowed_ = false;
  UserSpan place_;
};

}  // namespace suture
