#include "driver/fault_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bytecode/analysis.h"
#include "driver/fault_text.h"
#include "guard/guard_text.h"

namespace suture {
namespace {

class FrameFault {
 public:
  FrameFault(FaultText fault, Capture& capture, const CompileContext& ctx)
      : fault_(std::move(fault)), capture_(capture), ctx_(ctx) {}

  void inject() {
    if (fault_.kind == FaultKind::kDropGuard) return drop_guard();
    if (capture_.end.kind != FrameEnd::Kind::kBreak) return;
    fault_.kind == FaultKind::kSwappedLocals ? swap_locals() : make_local_stale();
  }

 private:
  // Counts the places.
  bool acts() {
    const auto nodes = std::ranges::count_if(
        capture_.graph.nodes, [](const Node& node) { return info(node.op).kind != OpKind::Input; });
    return fault_.holds({{"nodes", nodes},
                         {"symbols", static_cast<double>(capture_.graph.env.symbols().size())},
                         {"nth", ++places_}});
  }

  static bool may_go(const Guard& guard) {
    return guard.symbol < 0 && guard.kind != GuardKind::kType && guard.kind != GuardKind::kArray &&
           guard.kind != GuardKind::kNotPlain;
  }

  void drop_guard() {
    std::vector<Guard>& guards = capture_.guards.guards;
    const auto dropped = std::ranges::find_if(
        guards, [&](const Guard& guard) { return guard.kind == fault_.guard && may_go(guard) && acts(); });
    if (dropped == guards.end()) return;
    report("guard " + guard_check_text(*dropped, capture_.guards, capture_.graph.env), dropped->where);
    guards.erase(dropped);
  }

  // Plain variables that the code behind the break reads, with a value of their own each.
  std::vector<int> handed_over() const {
    const int next = capture_.end.at + 1;
    if (next >= static_cast<int>(capture_.function.instructions.size())) return {};
    const std::vector<bool> live = live_locals_at(capture_.function, next);
    std::vector<int> found;
    for (const auto& [local, recipe] : capture_.end.locals) {
      const auto index = static_cast<size_t>(local);
      const Recipe::Kind kind = capture_.recipes[static_cast<size_t>(recipe)].kind;
      if (live[index] && capture_.function.code.local_kinds[index] == kLocalPlain &&
          kind != Recipe::Kind::kUnbound && kind != Recipe::Kind::kNull)
        found.push_back(local);
    }
    return found;
  }

  void swap_locals() {
    const std::vector<int> locals = handed_over();
    for (size_t j = 1; j < locals.size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        RecipeId& first = capture_.end.locals[locals[i]];
        RecipeId& second = capture_.end.locals[locals[j]];
        if (first == second || !acts()) continue;
        report(fmt::format("variables {} and {}", name_of(locals[i]), name_of(locals[j])), place());
        return std::swap(first, second);
      }
    }
  }

  void make_local_stale() {
    for (const int local : handed_over()) {
      RecipeId& recipe = capture_.end.locals[local];
      const RecipeId argument = recipe_of_argument(local);
      if (argument < 0 || argument == recipe || !acts()) continue;
      report("variable " + name_of(local), place());
      recipe = argument;
      return;
    }
  }

  RecipeId recipe_of_argument(int local) const {
    const auto found = std::ranges::find_if(capture_.recipes, [&](const Recipe& recipe) {
      if (recipe.kind != Recipe::Kind::kSource) return false;
      const Source& source = capture_.guards.sources[recipe.source];
      return source.kind == SourceKind::kLocal && source.index == local;
    });
    return found == capture_.recipes.end() ? -1 : static_cast<RecipeId>(found - capture_.recipes.begin());
  }

  std::string name_of(int local) const {
    return capture_.function.code.local_names[static_cast<size_t>(local)];
  }
  UserSpan place() const { return capture_.end.reason ? capture_.end.reason->where : UserSpan(); }

  void report(const std::string& what, const UserSpan& where) const {
    if (!ctx_.trace.wants(EventId::kFaultInjected)) return;
    Event event(EventId::kFaultInjected, ctx_.id);
    event.set("graph", capture_.graph.name)
        .set("stage", std::string(name(info(fault_.kind).stage)))
        .set("kind", std::string(info(fault_.kind).name))
        .set("what", std::string(info(fault_.kind).doc))
        .set("at", what)
        .set("op", std::string())
        .set("node", std::string())
        .set("file", where.file)
        .set("line", int64_t{where.line})
        .set("option", ctx_.options.text("inject_fault"));
    ctx_.trace.emit(std::move(event));
  }

  FaultText fault_;
  Capture& capture_;
  const CompileContext& ctx_;
  int places_ = 0;
};

}  // namespace

Status inject_frame_fault(Capture& capture, const CompileContext& ctx) {
  const std::string& text = ctx.options.text("inject_fault");
  if (text.empty()) return ok_status();
  SUTURE_TRY(fault, parse_fault(text));
  if (is_of_frames(info(fault.kind).stage)) FrameFault(std::move(fault), capture, ctx).inject();
  return ok_status();
}

}  // namespace suture
