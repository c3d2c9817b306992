#include "schedule/fusion.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedule/axis_map.h"
#include "schedule/execution_order.h"
#include "schedule/fuse_nests.h"

namespace suture {
namespace {

struct Group {
  Statement statement;
  Touched touched;
  size_t position = 0;  // of its first statement
  int version = 0;
  bool alive = true;

  const Nest* nest() const { return std::get_if<Nest>(&statement); }
};

std::string replaced(std::string text, const std::string& key, const std::string& value) {
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + value.size()))
    text.replace(at, key.size(), value);
  return text;
}

class Fuser {
 public:
  Fuser(const LoopProgram& program, const Graph& graph, const ScheduleOptions& options)
      : program_(program), graph_(graph), options_(options), order_(program.statements.size()) {
    for (const Statement& statement : program.statements) {
      Group group{statement, touched_storage(statement, program.buffers), groups_.size()};
      for (size_t earlier = 0; earlier < groups_.size(); ++earlier)
        if (must_keep_order(groups_[earlier].touched, group.touched))
          order_.put_before(earlier, groups_.size());
      groups_.push_back(std::move(group));
    }
    find_candidates();
  }

  FusedStatements run() {
    while (options_.fuse && !at_limit() && merge_best_pair()) {
    }
    record_refusals();
    return {in_execution_order(), std::move(verdicts_)};
  }

 private:
  struct Pair {
    size_t first, second;  // first runs before second
    double bytes;
  };

  std::optional<Pair> ordered_pair(size_t a, size_t b) const {
    const std::vector<BufferId> shared = shared_storage(groups_[a].touched, groups_[b].touched);
    if (shared.empty()) return std::nullopt;
    double bytes = 0;
    for (BufferId id : shared) bytes += footprint(id);
    const bool backwards = order_.directly_before(b, a);
    return backwards ? Pair{b, a, bytes} : Pair{a, b, bytes};
  }

  double footprint(BufferId id) const {
    const Buffer& buffer = program_.buffers[id];
    const auto elements = static_cast<double>(program_.env.hint(product(buffer.shape)));
    const bool handed_over = buffer.kind == Buffer::Kind::kTemp || buffer.kind == Buffer::Kind::kOutput;
    return elements * itemsize(buffer.dtype) * (handed_over ? 2.0 : 1.0);
  }

  // Pairs that share memory, most shared bytes first. Only the pairs of a merged group change, so the list is
  // kept.
  void find_candidates() {
    std::map<BufferId, std::vector<size_t>> users;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (const auto* ids : {&groups_[i].touched.reads, &groups_[i].touched.writes})
        for (BufferId id : *ids) users[id].push_back(i);
    }
    std::set<std::pair<size_t, size_t>> seen;
    for (const auto& [buffer, indices] : users)
      for (size_t a : indices)
        for (size_t b : indices)
          if (a < b && seen.insert({a, b}).second) add_candidate(a, b);
    std::sort(candidates_.begin(), candidates_.end(), comes_first);
  }

  void add_candidate(size_t a, size_t b) {
    if (const auto pair = ordered_pair(std::min(a, b), std::max(a, b))) candidates_.push_back(*pair);
  }

  static bool comes_first(const Pair& x, const Pair& y) {
    const auto place = [](const Pair& p) { return std::minmax(p.first, p.second); };
    return x.bytes != y.bytes ? x.bytes > y.bytes : place(x) < place(y);
  }

  void renew_candidates(size_t into, size_t gone) {
    std::set<size_t> partners;
    std::erase_if(candidates_, [&](const Pair& pair) {
      const bool changed =
          pair.first == into || pair.second == into || pair.first == gone || pair.second == gone;
      if (changed) partners.insert({pair.first, pair.second});
      return changed;
    });
    const auto kept = static_cast<std::ptrdiff_t>(candidates_.size());
    for (size_t other : partners)
      if (other != into && other != gone) add_candidate(into, other);
    std::sort(candidates_.begin() + kept, candidates_.end(), comes_first);
    std::inplace_merge(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), comes_first);
  }

  FuseResult judge(const Pair& pair) const {
    const Nest* producer = groups_[pair.first].nest();
    const Nest* consumer = groups_[pair.second].nest();
    const BufferId buffer = shared_storage(groups_[pair.first].touched, groups_[pair.second].touched).front();
    if (!producer || !consumer) return {std::nullopt, FusionReason::kNumpyCall, buffer};
    if (!options_.fuse) return {std::nullopt, FusionReason::kOff, buffer};
    if (order_.before_through_others(pair.first, pair.second) || order_.before(pair.second, pair.first))
      return {std::nullopt, FusionReason::kCycle, buffer};
    return fuse_nests(*producer, *consumer, program_.env, options_.max_group_nodes);
  }

  bool merge_best_pair() {
    for (const Pair& pair : candidates_) {
      const auto key = std::make_pair(pair.first, pair.second);
      const auto versions = std::make_pair(groups_[pair.first].version, groups_[pair.second].version);
      const auto known = refused_.find(key);
      if (known != refused_.end() && known->second == versions) continue;
      FuseResult result = judge(pair);
      if (!result.nest) {
        // An ordering refusal may vanish when other groups merge, all others depend on the two groups only.
        if (result.reason != FusionReason::kCycle) refused_[key] = versions;
        continue;
      }
      const Pair merged = pair;  // merging edits the list
      record(merged, result);
      merge(merged, std::move(*result.nest));
      return true;
    }
    return false;
  }

  void merge(const Pair& pair, Nest nest) {
    const size_t into = std::min(pair.first, pair.second), gone = std::max(pair.first, pair.second);
    Group& group = groups_[into];
    group.statement = std::move(nest);
    group.touched = touched_storage(group.statement, program_.buffers);
    ++group.version;
    groups_[gone].alive = false;
    order_.merge(into, gone);
    renew_candidates(into, gone);
  }

  NodeId node_of(const Group& group, bool last) const {
    if (const Nest* nest = group.nest()) {
      if (nest->nodes.empty()) return kNoNode;
      return last ? nest->nodes.back() : nest->nodes.front();
    }
    return std::get<NumpyCall>(group.statement).node;
  }

  std::string name_of(NodeId node) const { return node == kNoNode ? "?" : graph_.node(node).name; }

  // What goes through memory between the two: a temporary is written and read, anything else is read once more.
  int64_t bytes_between(BufferId id) const {
    if (id < 0) return 0;
    const Buffer& buffer = program_.buffers[id];
    const int64_t bytes = program_.env.hint(product(buffer.shape)) * itemsize(buffer.dtype);
    return buffer.kind == Buffer::Kind::kTemp ? 2 * bytes : bytes;
  }

  void record(const Pair& pair, const FuseResult& result) {
    FusionVerdict verdict;
    verdict.producer_node = node_of(groups_[pair.first], true);
    verdict.consumer_node = node_of(groups_[pair.second], false);
    verdict.producer = name_of(verdict.producer_node);
    verdict.consumer = name_of(verdict.consumer_node);
    verdict.fused = result.nest.has_value();
    if (verdict.fused) verdict.number = ++taken_;
    verdict.reason = info(result.reason).name;
    verdict.advice = info(result.reason).advice;
    verdict.bytes = bytes_between(result.buffer);
    const std::string buffer = result.buffer >= 0 ? program_.buffers[result.buffer].name : "";
    verdict.sentence =
        replaced(replaced(replaced(std::string(info(result.reason).sentence), "{p}", verdict.producer), "{c}",
                          verdict.consumer),
                 "{b}", buffer);
    verdicts_.push_back(std::move(verdict));
  }

  bool at_limit() const { return options_.fusion_limit >= 0 && taken_ >= options_.fusion_limit; }

  // Pairs that are left although they could be fused are there because of the limit.
  void record_refusals() {
    for (const Pair& pair : candidates_) {
      FuseResult result = judge(pair);
      if (result.nest) result = {std::nullopt, FusionReason::kLimit, result.buffer};
      record(pair, result);
    }
  }

  std::vector<Statement> in_execution_order() {
    std::vector<int> waiting_for(groups_.size(), 0);
    for (size_t i = 0; i < groups_.size(); ++i)
      for (size_t next : order_.direct_successors(i)) ++waiting_for[next];
    std::set<size_t> ready;
    for (size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].alive && waiting_for[i] == 0) ready.insert(i);
    std::vector<Statement> ordered;
    while (!ready.empty()) {
      const size_t at = *ready.begin();
      ready.erase(ready.begin());
      ordered.push_back(std::move(groups_[at].statement));
      for (size_t next : order_.direct_successors(at))
        if (--waiting_for[next] == 0) ready.insert(next);
    }
    return ordered;
  }

  const LoopProgram& program_;
  const Graph& graph_;
  const ScheduleOptions& options_;
  std::vector<Group> groups_;
  ExecutionOrder order_;
  std::vector<Pair> candidates_;
  std::map<std::pair<size_t, size_t>, std::pair<int, int>> refused_;
  std::vector<FusionVerdict> verdicts_;
  int64_t taken_ = 0;
};

}  // namespace

FusedStatements fuse_statements(const LoopProgram& program, const Graph& graph,
                                const ScheduleOptions& options) {
  return Fuser(program, graph, options).run();
}

}  // namespace suture
