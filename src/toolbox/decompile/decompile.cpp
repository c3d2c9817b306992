#include "toolbox/decompile/decompile.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "bytecode/marshal_reader.h"
#include "bytecode/validate.h"
#include "toolbox/decompile/disassembly.h"
#include "toolbox/decompile/dispatch_loop.h"
#include "toolbox/decompile/renamed_code.h"
#include "toolbox/decompile/standalone.h"
#include "toolbox/decompile/structure.h"
#include "toolbox/decompile/syntax_printer.h"
#include "toolbox/verify/placeholders.h"
#include "toolbox/verify/same_bytecode.h"

namespace suture::toolbox {

using syntax::Statements;
using syntax::SyntaxTree;

namespace {

constexpr int kStructureAttempt = 0, kFlagAttempt = 1, kDispatchAttempt = 2, kListAttempt = 3;
constexpr int kRounds = 4 * (kListAttempt + 1);  // then whatever still differs is listed
// Future features that `compile` takes as flags; barry_as_FLUFL changes the grammar and is left out.
constexpr int kFutureFlags = 0x1FE0000 & ~0x400000;

// A definition in the tree of code objects.
struct Unit {
  CodeTreePtr owned;  // null for the root
  const CodeTree* code = nullptr;
  int parent = -1;  // unit
  int attempt = 0;
  std::string not_structured, not_flagged, not_looped;  // why it is at no earlier attempt
};

bool is_class_code(const CodeTree& code) {
  return !is_module_code(code) && (code.view.flags & kCodeOptimized) == 0;
}

// Defaults and annotations that are no literals are `_K[i]` in the text, too.
bool are_placeholders_in(const FunctionFacts& facts) {
  const auto keyword = [](const auto& named) { return is_placeholder(named.second); };
  const auto annotation = [](const auto& each) { return is_placeholder(each.value); };
  return std::ranges::any_of(facts.defaults, is_placeholder) ||
         std::ranges::any_of(facts.keyword_defaults, keyword) ||
         std::ranges::any_of(facts.annotations, annotation);
}

// What a check has proved, and how much that leaves open.
constexpr int kUnproved = 10;
std::pair<std::string, int> proved(const CodeVerdict& verdict) {
  const bool paths = verdict.kind == CodeVerdict::Kind::kPathEquivalent;
  std::string text = fmt::format("verified: {}", verdict_name(verdict.kind));
  if (!verdict.seen_by.empty())
    text += fmt::format(", with variables of its own in sight of {}", verdict.seen_by);
  if (verdict.placeholders) text += ", with _K[i] for constants that are no literals";
  // A class's namespace may even refuse them.
  const int seen = verdict.seen_by.empty() ? 0 : is_class_code(*verdict.first) ? 4 : 2;
  return {text, (paths ? 2 : 0) + seen + (verdict.placeholders ? 1 : 0)};
}

std::string why(const Unit& unit) {
  std::string all = unit.not_structured;
  const auto add = [&](std::string_view tier, const std::string& reason) {
    if (reason.empty()) return;
    all += all.empty() ? reason : fmt::format("; {}: {}", tier, reason);
  };
  // What a dispatch loop cannot say either says more.
  if (unit.not_looped.empty()) add("with flags", unit.not_flagged);
  add("as a dispatch loop", unit.not_looped);
  return all;
}

// What rendering found out.
struct Rendering {
  SyntaxTree tree;
  std::map<const CodeTree*, std::string> failed;  // units whose attempt has no text
  std::set<std::string> synthetic_locals;
  std::set<const CodeTree*> listed;  // in nested_definitions, where each is listed once
};

constexpr size_t kMaxRepeats = 4'000;  // of code objects that stand in several places
constexpr size_t kMostWritten = 1'000'000'000;

class Decompiler {
 public:
  Decompiler(const CodeTree& root, const DecompileOptions& options)
      : root_(root), options_(options), placeholders_(has_placeholders(root)) {
    const size_t written = collect(root, nullptr, -1);
    if (written - codes_.size() > kMaxRepeats) list_all(written);
  }

  Decompilation run();

 private:
  size_t collect(const CodeTree& code, CodeTreePtr owned, int parent);
  void list_all(size_t written);
  int first_attempt() const;
  bool advance(const CodeTree* code, std::string reason);
  bool is_listed(int unit) const { return units_[static_cast<size_t>(unit)].attempt == kListAttempt; }

  // ---- text
  std::string class_around(const Unit& unit) const;
  std::set<std::string> variables_around(const Unit& unit) const;
  Rendering render(const CodeTree& code, const std::set<const CodeTree*>& stubs);
  Result<Statements> definition(const NestedCode& nested, Rendering& out,
                                const std::set<const CodeTree*>& stubs);
  Result<Statements> definition(const CodeTree& code, Rendering& out, const std::set<const CodeTree*>& stubs);
  Result<Statements> structured(const CodeTree& code, const NestedCode& nested, Rendering& out,
                                const std::set<const CodeTree*>& stubs);
  Result<Statements> body_of(const Unit& unit, Rendering& out, const std::set<const CodeTree*>& stubs);
  Statements nested_definitions(const CodeTree& code, Rendering& out, const std::set<const CodeTree*>& stubs);

  // ---- check
  struct Compiled {
    std::string difference;  // what the compiler or the printer says; else empty
    CodeTreePtr code;
  };
  Compiled compile(const CodeTree& code, Rendering& rendering);
  bool blame_syntax(const std::string& complaint);
  void verify(const CodeTree& first, const CodeTree& second, const Rendering& rendering);
  void verify_nested(const CodeTree& first, const CodeTree& second, const Rendering& rendering);
  bool judge();
  void list_what_moved();
  Decompilation report(std::string source);

  const CodeTree& root_;
  const DecompileOptions& options_;
  const bool placeholders_;
  std::vector<Unit> units_;                          // parents first
  std::map<const CodeTree*, int> unit_of_;           // the unit a code object is printed in
  std::vector<const CodeTree*> codes_;               // the whole tree, parents first
  std::map<const CodeTree*, size_t> written_;        // code objects in the text of one, itself included
  bool lists_once_ = false;                          // a code object that stands in several places
  std::map<const CodeTree*, CodeVerdict> verdicts_;  // of the last check
};

// ---- units

// The tree is as deep as its reader allows. Returns in how many code objects the text of this one is written.
size_t Decompiler::collect(const CodeTree& code, CodeTreePtr owned, int parent) {
  if (unit_of_.contains(&code)) return written_[&code];
  int unit = parent;
  if (parent < 0 || is_definition_code(code)) {
    unit = static_cast<int>(units_.size());
    units_.push_back({std::move(owned), &code, parent, first_attempt()});
  }
  unit_of_[&code] = unit;
  codes_.push_back(&code);
  size_t written = 1;
  for (const Constant& constant : code.constants) {
    if (constant.is(Constant::Kind::kCode)) written += collect(*constant.code, constant.code, unit);
  }
  written = std::min(written, kMostWritten);
  written_[&code] = written;
  // Only bytecode that keeps the rules is interpreted at all.
  if (auto checked = decode_checked(code); !checked) {
    units_[static_cast<size_t>(unit)].attempt = kListAttempt;
    units_[static_cast<size_t>(unit)].not_structured = checked.error().message;
  }
  return written;
}

// Text has no way to say that two definitions are the same code object: it writes them out.
void Decompiler::list_all(size_t written) {
  lists_once_ = true;
  for (Unit& unit : units_) {
    unit.attempt = kListAttempt;
    unit.not_structured =
        fmt::format("its text would define {}{} code objects for the {} that there are: each is listed once",
                    written, written == kMostWritten ? " or more" : "", codes_.size());
  }
}

int Decompiler::first_attempt() const {
  switch (options_.first_tier) {
    case Tier::kStructured: return kFlagAttempt;
    case Tier::kDispatchLoop: return kDispatchAttempt;
    case Tier::kDisassembly: return kListAttempt;
    default: return kStructureAttempt;
  }
}

// False: there is no further attempt.
bool Decompiler::advance(const CodeTree* code, std::string reason) {
  Unit& unit = units_[static_cast<size_t>(unit_of_.at(code))];
  if (unit.attempt == kListAttempt) return false;
  std::string& why = unit.attempt < kFlagAttempt       ? unit.not_structured
                     : unit.attempt < kDispatchAttempt ? unit.not_flagged
                                                       : unit.not_looped;
  if (why.empty()) why = std::move(reason);
  ++unit.attempt;
  return true;
}

// ---- text

Rendering Decompiler::render(const CodeTree& code, const std::set<const CodeTree*>& stubs) {
  Rendering out;
  auto body = definition(code, out, stubs);
  if (body) {
    out.tree.body = std::move(*body);
  } else {
    out.failed[&code] = body.error().message;
  }
  return out;
}

// The statements of a code object, as they stand in the text: a definition, an expression, or a module's.
Result<Statements> Decompiler::definition(const CodeTree& code, Rendering& out,
                                          const std::set<const CodeTree*>& stubs) {
  const Unit& unit = units_[static_cast<size_t>(unit_of_.at(&code))];
  const bool own = unit.code == &code;
  if (own && unit.attempt >= kFlagAttempt) {
    auto body = body_of(unit, out, stubs);
    if (!body) {
      out.failed[&code] = body.error().message;
      body = Statements{out.tree.make<syntax::Pass>()};
    }
    if (is_module_code(code) || !is_definition_code(code)) return body;
    return Statements{make_definition(code, std::move(*body), out.tree)};
  }
  return structured(code, {}, out, stubs);
}

// What another code object has nested in it.
Result<Statements> Decompiler::definition(const NestedCode& nested, Rendering& out,
                                          const std::set<const CodeTree*>& stubs) {
  if (nested.use == NestedCode::Use::kDefinition) return definition(*nested.code, out, stubs);
  return structured(*nested.code, nested, out, stubs);
}

// The text of the first tier, in which definitions that are in another one have the bodies of that.
Result<Statements> Decompiler::structured(const CodeTree& code, const NestedCode& nested, Rendering& out,
                                          const std::set<const CodeTree*>& stubs) {
  std::vector<FailedCode> failed;
  StructureOptions options{.failed = &failed};
  options.replacement = [&](const CodeTree& inner, SyntaxTree& tree) -> std::optional<Statements> {
    const Unit& other = units_[static_cast<size_t>(unit_of_.at(&inner))];
    if (&inner == &code || other.code != &inner) return std::nullopt;
    if (stubs.contains(&inner)) return Statements{tree.make<syntax::Pass>()};
    if (other.attempt == kStructureAttempt) return std::nullopt;
    auto body = body_of(other, out, stubs);
    if (body) return std::move(*body);
    out.failed[&inner] = body.error().message;
    return Statements{tree.make<syntax::Pass>()};
  };
  SUTURE_TRY(structured, nested.use == NestedCode::Use::kGeneric
                             ? structure_generic(code, nested.arguments, options)
                         : nested.use == NestedCode::Use::kLate ? structure_late(code, options)
                                                                : structure(code, options));
  for (FailedCode& each : failed) out.failed[each.code] = std::move(each.reason);
  Statements body = structured.body;
  out.tree.adopt(std::move(structured));
  return body;
}

// The class whose text a unit's body stands in; "": none.
std::string Decompiler::class_around(const Unit& unit) const {
  for (const Unit* at = &unit;; at = &units_[static_cast<size_t>(at->parent)]) {
    if (is_class_code(*at->code)) return at->code->view.name;
    if (at->parent < 0) return "";
  }
}

// The variables of the functions that a unit stands in.
std::set<std::string> Decompiler::variables_around(const Unit& unit) const {
  std::set<std::string> all;
  for (int at = unit.parent; at >= 0; at = units_[static_cast<size_t>(at)].parent) {
    const CodeView& view = units_[static_cast<size_t>(at)].code->view;
    if (view.flags & kCodeOptimized) all.insert(view.local_names.begin(), view.local_names.end());
  }
  return all;
}

// What stands inside the definition of a unit.
Result<Statements> Decompiler::body_of(const Unit& unit, Rendering& out,
                                       const std::set<const CodeTree*>& stubs) {
  if (unit.attempt == kListAttempt) {
    return disassembled_body(*unit.code, why(unit).empty() ? "as asked for" : why(unit),
                             nested_definitions(*unit.code, out, stubs), out.tree);
  }
  if (unit.attempt != kStructureAttempt) {
    const auto nested = [&](const NestedCode& code, SyntaxTree&) { return definition(code, out, stubs); };
    const LoopForm form = unit.attempt == kFlagAttempt ? LoopForm::kFlags : LoopForm::kDispatch;
    SUTURE_TRY(loop, dispatch_loop(*unit.code, {class_around(unit), variables_around(unit)}, nested, out.tree,
                                   form));
    out.synthetic_locals.insert(loop.synthetic_locals.begin(), loop.synthetic_locals.end());
    return std::move(loop.body);
  }
  SUTURE_TRY(body, definition(*unit.code, out, stubs));
  if (auto* node = body.size() == 1 ? syntax::as<syntax::FunctionDef>(body[0]) : nullptr) return node->body;
  if (auto* node = body.size() == 1 ? syntax::as<syntax::AsyncFunctionDef>(body[0]) : nullptr)
    return node->body;
  if (auto* node = body.size() == 1 ? syntax::as<syntax::ClassDef>(body[0]) : nullptr) return node->body;
  return Error::internal("decompile", "a definition has no body");
}

// Of a unit that is listed: what is nested in it is decompiled all the same.
Statements Decompiler::nested_definitions(const CodeTree& code, Rendering& out,
                                          const std::set<const CodeTree*>& stubs) {
  Statements all;
  for (const Constant& constant : code.constants) {
    if (!constant.is(Constant::Kind::kCode) || !is_definition_code(*constant.code)) continue;
    if (lists_once_ && !out.listed.insert(constant.code.get()).second) continue;
    auto nested = definition(*constant.code, out, stubs);
    if (nested) {
      all.insert(all.end(), nested->begin(), nested->end());
    } else {
      out.failed[constant.code.get()] = nested.error().message;
    }
  }
  return all;
}

// ---- check

Decompiler::Compiled Decompiler::compile(const CodeTree& code, Rendering& rendering) {
  Standalone alone = make_standalone(code, rendering.tree.body, rendering.tree);
  auto source = print_statements(alone.body, code.view.version, alone.path.empty());
  if (!source) return {source.error().message, nullptr};
  auto marshalled = options_.compile(*source, code.view.flags & kFutureFlags);
  if (!marshalled) return {marshalled.error().message, nullptr};
  auto module = read_code(*marshalled, code.view.version);
  if (!module) return {module.error().message, nullptr};
  CodeTreePtr found = find_code(*module, alone.path);
  return found ? Compiled{"", found} : Compiled{"the text defines no such code object", nullptr};
}

// The text as a whole does not compile: which functions do not compile alone? True when one was found and moved on.
bool Decompiler::blame_syntax(const std::string& complaint) {
  std::set<const CodeTree*> stubs;
  for (const Unit& unit : units_) stubs.insert(unit.code);
  bool found = false;
  for (size_t i = units_.size(); i-- > 0;) {
    const CodeTree* code = units_[i].code;
    if (units_[i].attempt == kListAttempt) continue;
    Rendering alone = render(*code, stubs);
    const std::string why =
        alone.failed.contains(code) ? alone.failed[code] : compile(*code, alone).difference;
    if (!why.empty()) found |= advance(code, why);
  }
  return found || advance(&root_, complaint);
}

// Compares one unit and all that is nested in it. A listed body says nothing about what is nested in it, so definitions
// there are compared one by one.
void Decompiler::verify(const CodeTree& first, const CodeTree& second, const Rendering& rendering) {
  const Unit& unit = units_[static_cast<size_t>(unit_of_.at(&first))];
  if (unit.code == &first && unit.attempt == kListAttempt) return verify_nested(first, second, rendering);
  VerifyOptions options{.first_qualname = &first == &root_ ? options_.qualname : "",
                        .synthetic_locals_may_show = true,
                        .placeholders = placeholders_};
  options.synthetic_locals.assign(rendering.synthetic_locals.begin(), rendering.synthetic_locals.end());
  for (const Unit& each : units_) {
    if (each.attempt == kFlagAttempt) options.by_paths.insert(each.code);
  }
  Verification verification = verify_bytecode(first, second, options);
  std::vector<std::pair<const CodeTree*, const CodeTree*>> listed;
  for (CodeVerdict& verdict : verification.codes) {
    const Unit& owner = units_[static_cast<size_t>(unit_of_.at(verdict.first))];
    if (owner.code == verdict.first && owner.attempt == kListAttempt && verdict.second) {
      listed.emplace_back(verdict.first, verdict.second);
    }
    verdicts_[verdict.first] = std::move(verdict);
  }
  for (const auto& [code, other] : listed) verify_nested(*code, *other, rendering);
}

void Decompiler::verify_nested(const CodeTree& first, const CodeTree& second, const Rendering& rendering) {
  std::set<const CodeTree*> taken;
  for (const Constant& constant : first.constants) {
    if (!constant.is(Constant::Kind::kCode) || !is_definition_code(*constant.code)) continue;
    const auto partner = std::ranges::find_if(second.constants, [&](const Constant& other) {
      return other.is(Constant::Kind::kCode) && other.code->view.name == constant.code->view.name &&
             !taken.contains(other.code.get());
    });
    if (partner == second.constants.end()) continue;
    taken.insert(partner->code.get());
    verify(*constant.code, *partner->code, rendering);
  }
}

// Moves on what differs. True when nothing does.
bool Decompiler::judge() {
  bool settled = true;
  std::set<int> moved;
  for (const CodeTree* code : codes_) {
    const int unit = unit_of_.at(code);
    const auto verdict = verdicts_.find(code);
    const bool differs = verdict == verdicts_.end() || verdict->second.kind == CodeVerdict::Kind::kDifferent;
    if (!differs || is_listed(unit) || moved.contains(unit)) continue;
    // Without a partner, the difference is in what is around it.
    const int parent = units_[static_cast<size_t>(unit)].parent;
    const bool orphan = verdict == verdicts_.end() || !verdict->second.second;
    if (orphan && moved.contains(parent)) {
      moved.insert(unit);
      continue;
    }
    const std::string why = verdict == verdicts_.end() ? "it has no counterpart in the recompiled text"
                                                       : verdict->second.difference;
    advance(code, code == units_[static_cast<size_t>(unit)].code
                      ? why
                      : fmt::format("{} inside it: {}", code->view.name, why));
    moved.insert(unit);
    settled = false;
  }
  return settled;
}

// ---- the whole

Decompilation Decompiler::run() {
  for (int round = 0;; ++round) {
    if (round == kRounds) list_what_moved();
    const bool last = round == 2 * kRounds;
    Rendering rendering = render(root_, {});
    for (auto& [code, reason] : rendering.failed) advance(code, std::move(reason));
    if (!rendering.failed.empty() && !last) continue;
    if (options_.compile) {
      Compiled compiled = compile(root_, rendering);
      verdicts_.clear();
      if (compiled.code) verify(root_, *compiled.code, rendering);
      const bool settled = compiled.code ? judge() : !blame_syntax(compiled.difference);
      if (!settled && !last) continue;
    }
    if (is_definition_code(root_)) add_function_facts(options_.function, rendering.tree.body, rendering.tree);
    auto source = print_source(rendering.tree, root_.view.version);
    if (options_.as_module && source && needs_outer(root_, rendering.tree.body)) {
      rendering.tree.body = make_standalone(root_, rendering.tree.body, rendering.tree).body;
      source = print_source(rendering.tree, root_.view.version);
    }
    // Without a compiler nothing has printed the text yet.
    if (!source && advance(&root_, source.error().message) && !last) continue;
    return report(source ? std::move(*source) : fmt::format("# {}\n", source.error().message));
  }
}

// Something goes round in circles: every attempt of a function is made for all others as they are.
void Decompiler::list_what_moved() {
  for (Unit& unit : units_) {
    if (unit.attempt > 0) unit.attempt = kListAttempt;
  }
}

Decompilation Decompiler::report(std::string source) {
  Decompilation out{.source = std::move(source)};
  const bool two_tables = are_placeholders_in(options_.function) && has_own_table(root_);
  int weakest = 0;
  for (const CodeTree* code : codes_) {
    const Unit& unit = units_[static_cast<size_t>(unit_of_.at(code))];
    const auto verdict = verdicts_.find(code);
    CodeReport each{.code = code, .note = why(unit)};
    each.tier = unit.attempt == kListAttempt       ? Tier::kDisassembly
                : unit.attempt == kDispatchAttempt ? Tier::kDispatchLoop
                : unit.attempt == kFlagAttempt     ? Tier::kStructured
                                                   : Tier::kIdiomatic;
    int weakness = kUnproved;
    if (unit.attempt == kListAttempt) {
      each.verdict = "unverified: not decompiled";
    } else if (!options_.compile) {
      each.verdict = "unverified: " + options_.unverifiable;
    } else if (two_tables) {
      each.verdict = "unverified: `_K` is a name of the program's, and what the text calls its constants";
    } else if (verdict == verdicts_.end()) {
      each.verdict = "unverified: it has no counterpart in the recompiled text";
    } else if (verdict->second.kind != CodeVerdict::Kind::kDifferent) {
      std::tie(each.verdict, weakness) = proved(verdict->second);
    } else {
      each.verdict = "unverified: " + verdict->second.difference;
    }
    if (out.codes.empty() || weakness > weakest) out.verdict = each.verdict;
    weakest = std::max(weakest, weakness);
    out.tier = std::max(out.tier, each.tier);
    out.codes.push_back(std::move(each));
  }
  return out;
}

}  // namespace

Decompilation decompile(const CodeTree& code, const DecompileOptions& options) {
  RenamedCode renamed = rename_illegal(code);
  if (!renamed.tree) return Decompiler(code, options).run();
  Decompilation out = Decompiler(*renamed.tree, options).run();
  const auto add = [](std::string& verdict) {
    if (verdict.starts_with("verified")) verdict += ", apart from renamed names";
  };
  for (CodeReport& each : out.codes) {
    if (renamed.changed.contains(each.code)) add(each.verdict);
    each.code = renamed.original.at(each.code);
  }
  add(out.verdict);
  out.renamed = std::move(renamed.names);
  return out;
}

}  // namespace suture::toolbox
