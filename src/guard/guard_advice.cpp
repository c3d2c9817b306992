#include "guard/guard_advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace suture {
namespace {

SourceId root_of(const SourceTable& sources, SourceId id) {
  while (id != kNoSource && sources[id].parent != kNoSource) id = sources[id].parent;
  return id;
}

bool is_module(const GuardSet& set, SourceId id) {
  if (id == kNoSource) return false;
  if (set.sources[id].kind == SourceKind::kObject) return PyModule_Check(set.sources[id].key.get());
  return std::ranges::any_of(set.guards, [id](const Guard& guard) {
    return guard.source == id && guard.kind == GuardKind::kIdentity && !guard.weak &&
           PyModule_Check(guard.object.get());
  });
}

// Read from an object that the program could leave out: attribute of an instance, item of a container.
bool is_part(const GuardSet& set, SourceId id) {
  const Source& source = set.sources[id];
  switch (source.kind) {
    case SourceKind::kAttr: return !is_module(set, source.parent);
    case SourceKind::kItem: return true;
    case SourceKind::kKey: return set.sources[source.parent].kind != SourceKind::kGlobalsOf;
    default: return false;
  }
}

bool has_parts(const GuardSet& set, SourceId id) {
  return std::ranges::any_of(set.guards, [&](const Guard& guard) {
    for (SourceId at = guard.source; at != kNoSource; at = set.sources[at].parent)
      if (set.sources[at].parent == id && is_part(set, at)) return true;
    return false;
  });
}

}  // namespace

std::string_view origin_of(const SourceTable& sources, SourceId id) {
  if (id == kNoSource) return "";
  switch (sources[root_of(sources, id)].kind) {
    case SourceKind::kLocal: return "argument";
    case SourceKind::kGlobal: return "global";
    case SourceKind::kCell: return "closure variable";
    case SourceKind::kBuiltin: return "builtin";
    case SourceKind::kFunction: return "function";
    default: return "object";
  }
}

std::string guard_removal(const GuardSet& set, size_t index) {
  const Guard& guard = set.guards[index];
  if (guard.kind == GuardKind::kNoOverlap) return "return a new array instead of writing into an argument";
  if (guard.source == kNoSource) return "";
  const std::string name = set.sources.str(guard.source);
  if (has_parts(set, guard.source))
    return fmt::format("pass what the function reads of `{}` as arguments of their own", name);
  if (is_part(set, guard.source))
    return fmt::format("pass `{}` as an argument of its own instead of reading it from `{}`", name,
                       set.sources.str(root_of(set.sources, guard.source)));
  return "";
}

}  // namespace suture
