// Overview
//   Pairs of code objects wait in a list, the two roots first. Each pair is compared (header, then
//   instructions); the code objects that it loads at the same places are pairs again. What a pair that differs
//   never came to is paired by name and order, so that a difference hides nothing behind it.
#include "toolbox/verify/same_bytecode.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/escaped_text.h"
#include "toolbox/verify/code_header.h"
#include "toolbox/verify/graph_walk.h"
#include "toolbox/verify/instruction_graph.h"
#include "toolbox/verify/path_equivalence.h"
#include "toolbox/verify/placeholders.h"

namespace suture::toolbox {
namespace {

using Nested = std::vector<std::pair<const CodeTree*, const CodeTree*>>;

std::vector<const CodeTree*> nested_code(const CodeTree& tree) {
  std::vector<const CodeTree*> out;
  for (const Constant& constant : tree.constants)
    if (constant.is(Constant::Kind::kCode)) out.push_back(constant.code.get());
  return out;
}

// Names and kinds tell locals apart, except in code that no compiler made.
bool has_ambiguous_locals(const CodeView& view) {
  std::set<std::pair<std::string_view, uint8_t>> seen;
  for (size_t i = 0; i < view.local_names.size(); ++i)
    if (!seen.emplace(view.local_names[i], view.local_kinds[i]).second) return true;
  return false;
}

std::string with_places(const InstructionGraph& first, const InstructionGraph& second,
                        const GraphComparison& comparison) {
  if (comparison.first_node < 0) return comparison.difference;
  return fmt::format("{}: {} in the first, {} in the second", comparison.difference,
                     first.describe(comparison.first_node), second.describe(comparison.second_node));
}

class Verifier {
 public:
  Verifier(const CodeTree& first, const CodeTree& second, const VerifyOptions& options)
      : options_(options),
        roots_{options.first_qualname.empty() ? first.view.qualname : options.first_qualname,
               second.view.qualname},
        work_{{&first, &second}} {}

  Verification run();

 private:
  void add_pair(const CodeTree* first, const CodeTree* second);
  CodeVerdict compare(const CodeTree& first, const CodeTree& second, Nested& nested);
  void compare_instructions(CodeVerdict& verdict, Nested& nested);
  void pair_by_name(const CodeTree& first, const CodeTree* second, Nested& nested);
  void record(CodeVerdict verdict);
  bool has_synthetic_locals(const CodeView& view) const;

  const VerifyOptions& options_;
  QualifiedRoots roots_;
  Nested work_;
  std::set<std::pair<const CodeTree*, const CodeTree*>> seen_;
  std::unordered_map<const CodeTree*, size_t> position_;  // in result_.codes
  Verification result_;
};

bool Verifier::has_synthetic_locals(const CodeView& view) const {
  const bool has_locals = (view.flags & kCodeOptimized) != 0;
  const auto& names = has_locals ? view.local_names : view.names;
  return std::ranges::find_first_of(names, options_.synthetic_locals) != names.end();
}

void Verifier::compare_instructions(CodeVerdict& verdict, Nested& nested) {
  auto first = build_instruction_graph(*verdict.first);
  auto second = build_instruction_graph(*verdict.second);
  if (!first.ok() || !second.ok()) {
    verdict.difference = (first.ok() ? second : first).error().message;
    return;
  }
  if (options_.placeholders) verdict.placeholders = fold_placeholders(*second) > 0;
  // A local of the original is none of the text's own, whatever another function of the text calls its own.
  bool paths = has_synthetic_locals(verdict.second->view) && !has_synthetic_locals(verdict.first->view);
  GraphComparison comparison = paths ? compare_paths(*first, *second, options_.synthetic_locals,
                                                     options_.synthetic_locals_may_show, options_.step_limit)
                                     : compare_graphs(*first, *second, options_.step_limit);
  if (!paths && !comparison.difference.empty() && options_.by_paths.contains(verdict.first)) {
    paths = true;
    comparison = compare_paths(*first, *second, {}, true, options_.step_limit);
    comparison.seen_by.clear();  // there is nothing to see
  }
  for (const auto& [a, b] : comparison.nested) nested.emplace_back(a.get(), b.get());
  if (comparison.difference.empty()) {
    verdict.seen_by = comparison.seen_by;
    verdict.kind = paths ? CodeVerdict::Kind::kPathEquivalent : CodeVerdict::Kind::kSameBytecode;
    return;
  }
  verdict.difference = with_places(*first, *second, comparison);
}

CodeVerdict Verifier::compare(const CodeTree& first, const CodeTree& second, Nested& nested) {
  CodeVerdict verdict{.first = &first, .second = &second};
  if (first.view.version != second.view.version) {
    verdict.difference = "they are of different Python versions";
    return verdict;
  }
  if (has_ambiguous_locals(first.view) || has_ambiguous_locals(second.view)) {
    verdict.difference = "two locals have the same name";
    return verdict;
  }
  const QualifiedRoots own{first.view.qualname, second.view.qualname};
  const bool is_root = &first == work_.front().first;
  verdict.difference = header_difference(first, second, is_root ? own : roots_);
  if (verdict.difference.empty()) compare_instructions(verdict, nested);
  return verdict;
}

// Code objects that the walk never came to, because it ended before.
void Verifier::pair_by_name(const CodeTree& first, const CodeTree* second, Nested& nested) {
  std::set<const CodeTree*> known_first, known_second;
  for (const auto& [a, b] : nested) {
    known_first.insert(a);
    known_second.insert(b);
  }
  std::map<std::string_view, std::vector<const CodeTree*>> candidates;
  if (second)
    for (const CodeTree* code : nested_code(*second))
      if (!known_second.contains(code)) candidates[code->view.name].push_back(code);
  std::map<std::string_view, size_t> used;
  for (const CodeTree* code : nested_code(first)) {
    if (known_first.contains(code)) continue;
    const auto& same_name = candidates[code->view.name];
    size_t& next = used[code->view.name];
    nested.emplace_back(code, next < same_name.size() ? same_name[next] : nullptr);
    ++next;
  }
}

// One verdict per code object; of several partners one that differs counts.
void Verifier::record(CodeVerdict verdict) {
  const auto [at, fresh] = position_.try_emplace(verdict.first, result_.codes.size());
  if (fresh)
    result_.codes.push_back(std::move(verdict));
  else if (verdict.kind == CodeVerdict::Kind::kDifferent)
    result_.codes[at->second] = std::move(verdict);
}

Verification Verifier::run() {
  // A list, not a stack: parents come before what is nested in them.
  for (size_t next = 0; next < work_.size(); ++next) {
    const auto [first, second] = work_[next];
    if (!seen_.emplace(first, second).second) continue;
    Nested nested;
    if (second == nullptr)
      record({.first = first, .difference = "it has no partner in the second"});
    else
      record(compare(*first, *second, nested));
    pair_by_name(*first, second, nested);
    work_.insert(work_.end(), nested.begin(), nested.end());
  }
  return std::move(result_);
}

}  // namespace

std::string_view verdict_name(CodeVerdict::Kind kind) {
  switch (kind) {
    case CodeVerdict::Kind::kSameBytecode: return "same bytecode";
    case CodeVerdict::Kind::kPathEquivalent: return "path-equivalent";
    case CodeVerdict::Kind::kDifferent: return "different";
  }
  return "";
}

bool Verification::equal() const { return first_difference() == nullptr; }

const CodeVerdict* Verification::first_difference() const {
  const auto at = std::ranges::find(codes, CodeVerdict::Kind::kDifferent, &CodeVerdict::kind);
  return at == codes.end() ? nullptr : &*at;
}

const CodeVerdict* Verification::find(const CodeTree* first) const {
  const auto at = std::ranges::find(codes, first, &CodeVerdict::first);
  return at == codes.end() ? nullptr : &*at;
}

std::string Verification::reason() const {
  const CodeVerdict* difference = first_difference();
  return difference
             ? fmt::format("{}: {}", escaped_line(difference->first->view.qualname), difference->difference)
             : "";
}

Verification verify_bytecode(const CodeTree& first, const CodeTree& second, const VerifyOptions& options) {
  return Verifier(first, second, options).run();
}

}  // namespace suture::toolbox
