// Do two code objects of the same Python version do the same? Proved by a walk over both, or denied.
//
// Answers "the same" only when no program can observe a difference, line numbers, sizes and timings aside. What
// does not count, and how the rest is compared, stands in instruction_graph.h (both kinds of comparison) and
// in path_equivalence.h (code with synthetic locals).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/code_tree.h"

namespace suture::toolbox {

struct VerifyOptions {
  // Locals of the second code object that stand for what the first one keeps in its program counter and on its
  // stack: flags, the state of a dispatch loop, spilled temporaries. Code objects of the second tree that have
  // locals of these names are compared by path equivalence. The first tree must not use the names.
  std::vector<std::string> synthetic_locals;
  // Where the first was renamed: the qualified name that those of the code objects in it begin with. "": its own.
  std::string first_qualname;
  // Whether they may be where the program could see them (`locals()`, the namespace of a module or class); the verdict then
  // says by what.
  bool synthetic_locals_may_show = false;
  // `_K[i]` in the second stands for the placeholder constant i of the first (placeholders.h).
  bool placeholders = false;
  // Code objects of the first tree that need only be path-equivalent to their partner, where it has no synthetic locals either.
  std::set<const CodeTree*> by_paths;
  // Steps of the walk per code object, so that hostile code ends in "different: too large to compare".
  int step_limit = 4'000'000;
};

// One code object of the first tree against its partner in the second.
struct CodeVerdict {
  enum class Kind { kSameBytecode, kPathEquivalent, kDifferent };

  Kind kind = Kind::kDifferent;
  const CodeTree* first = nullptr;
  const CodeTree* second = nullptr;  // null: the first has no partner
  // Of the first difference on the walk: one sentence with both places, and the instructions (indices into
  // decode_function's instructions; -1: it is in the header).
  std::string difference;
  bool placeholders = false;  // the second has placeholders
  std::string seen_by;        // path-equivalent: what may see the synthetic locals; "": nothing
};

std::string_view verdict_name(CodeVerdict::Kind kind);  // "same bytecode", "path-equivalent", "different"

struct Verification {
  // Every code object of the first tree, parents before what is nested in them. A difference counts for the
  // code object it is in, not for the ones around it.
  std::vector<CodeVerdict> codes;

  bool equal() const;
  const CodeVerdict* first_difference() const;  // null when equal
  const CodeVerdict* find(const CodeTree* first) const;
  std::string reason() const;  // "" when equal
};

// Both trees must outlive the result.
Verification verify_bytecode(const CodeTree& first, const CodeTree& second,
                             const VerifyOptions& options = {});

}  // namespace suture::toolbox
