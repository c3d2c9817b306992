// Symbolic sizes: integers known at compile time, or expressions over symbols that are bound at each call.
//
// Overview
//   SymInt   immutable value: a constant, or a canonical sum of (coefficient * product of atoms).
//            An atom is a symbol or an opaque floordiv/mod/min/max/negation-free call over SymInts.
//            Canonical means: two SymInts that are equal as polynomials compare equal with ==.
//   ShapeEnv owns the symbols of one compile: name, hint (the value in this call), range, and the relations that capture
//            relied on. Asking a question about symbols (`eq`, `lt`, ...) answers from ranges when provable, otherwise
//            from the hints, and then RECORDS the relation, so that it becomes a guard.
// Invariants
//   - Arithmetic is exact on int64 (overflow makes the operation return an error in debug, never wraps in a shape).
//   - Symbols that stand for sizes have range >= 2: sizes 0 and 1 are always static, because broadcasting depends on them.
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

  bool is_constant() const { return poly_ == nullptr; }
  std::optional<int64_t> constant() const;
  std::optional<SymbolId> as_symbol() const;  // set when the expression is exactly one symbol
  void collect_symbols(std::vector<SymbolId>& out) const;

  int64_t evaluate(std::span<const int64_t> symbol_values) const;  // indexed by SymbolId
  std::string str() const;                                         // "2*s0 + 1"; also valid C++ and Python for + - *
  std::string cpp(std::span<const std::string> symbol_names) const;  // C++ text; names indexed by SymbolId
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

SymInt floordiv(const SymInt& a, const SymInt& b);  // Python's floor division
SymInt mod(const SymInt& a, const SymInt& b);       // Python's modulo
SymInt sym_min(const SymInt& a, const SymInt& b);
SymInt sym_max(const SymInt& a, const SymInt& b);
// Product of all; 1 when empty.
SymInt product(std::span<const SymInt> dims);

enum class Relation : uint8_t { kEq, kNe, kLt, kLe };

// A relation capture relied on: lhs REL rhs. Becomes a guard.
struct ShapeFact {
  Relation relation;
  SymInt lhs, rhs;
  UserSpan where;
  std::string str() const;  // "s0 + 1 <= 64"
  bool holds(std::span<const int64_t> symbol_values) const;
};

struct SymbolInfo {
  std::string name;    // "s0"
  std::string source;  // "x.shape[0]" - for messages
  int64_t hint = 0;
  int64_t min = 2;
  int64_t max = INT64_MAX;
  bool is_size = true;  // false: a Python int argument or a stride (any value)
};

class ShapeEnv {
 public:
  SymInt create_symbol(std::string source, int64_t hint, int64_t min, int64_t max, bool is_size);
  const std::vector<SymbolInfo>& symbols() const { return symbols_; }
  const std::vector<ShapeFact>& facts() const { return facts_; }
  std::vector<int64_t> hints() const;
  int64_t hint(const SymInt& e) const;
  void set_place(const UserSpan& place) { place_ = place; }  // user line blamed for facts recorded from now on

  // Questions. Proven answers record nothing; others are answered by the hint and recorded.
  bool eq(const SymInt& a, const SymInt& b);
  bool lt(const SymInt& a, const SymInt& b);
  bool le(const SymInt& a, const SymInt& b);
  // Forces a concrete value: records e == hint.
  int64_t specialize(const SymInt& e);
  // Answers only when provable from ranges and algebra; records nothing.
  std::optional<bool> proves(Relation relation, const SymInt& a, const SymInt& b) const;
  std::string names_to_text(const SymInt& e) const;

 private:
  bool ask(Relation relation, const SymInt& a, const SymInt& b);
  std::vector<SymbolInfo> symbols_;
  std::vector<ShapeFact> facts_;
  UserSpan place_;
};

}  // namespace suture
