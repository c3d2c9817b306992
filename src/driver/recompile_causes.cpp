#include "driver/recompile_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "capture/source_text.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "driver/assignment_sites.h"

namespace suture {
namespace {

// Range guards come from bindings and have no line of their own: what made capture look at the value has.
UserSpan place_of_guard(const Guard& guard, const GuardTree& tree) {
  if (guard.where.known()) return guard.where;
  for (const Guard& other : tree.set().guards)
    if (guard.source != kNoSource && other.source == guard.source && other.where.known()) return other.where;
  return {};
}

bool is_about_object(const Guard& guard) {
  return guard.kind == GuardKind::kIdentity || guard.kind == GuardKind::kCode;
}

RecompileCause first_cause(const CompileContext& ctx, const CacheEntry& entry, const FrameInput& input,
                           AssignmentSites& sites) {
  RecompileCause cause;
  cause.entry = fmt::format("{}/{}", ctx.id.frame, entry.number);
  const GuardTree& tree = entry.guards;
  GuardScratch scratch;
  const int index = tree.evaluate(input, scratch);
  if (index < 0) {
    cause.sentence = cause.entry + ": no guard fails now; an input changed while it was checked";
    return cause;
  }
  const Guard& guard = tree.set().guards[static_cast<size_t>(index)];
  const GuardFailure failure = tree.explain_failure(index, input);
  cause.sentence = fmt::format("{}: {}", cause.entry, failure.sentence());
  cause.subject = failure.subject;
  cause.expected = failure.expected;
  cause.actual = failure.actual;
  cause.kind = info(guard.kind).name;
  cause.source = guard.source == kNoSource ? "" : tree.set().sources.str(guard.source);
  if (const UserSpan where = place_of_guard(guard, tree); where.known()) {
    cause.place = where.place();
    cause.place_source = source_line(where);
  }
  if (is_about_object(guard))
    cause.assigned = fmt::format("{}", fmt::join(sites.of(tree.set().sources, guard.source, input), ", "));
  const size_t guards = tree.set().guards.size();
  cause.passed = fmt::format("{} of {}", guards - tree.failing(input).size(), guards);
  return cause;
}

}  // namespace

std::vector<RecompileCause> recompile_causes(const CompileContext& ctx, const RefusedCall& call) {
  std::vector<RecompileCause> causes;
  AssignmentSites sites;
  for (const auto& entry : call.cache.entries())
    causes.push_back(first_cause(ctx, *entry, call.input, sites));
  const std::string action = advice_for(call);
  for (RecompileCause& cause : causes) cause.action = action;
  return causes;
}

}  // namespace suture
