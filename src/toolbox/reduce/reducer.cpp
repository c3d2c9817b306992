#include "toolbox/reduce/reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>

namespace suture::toolbox::reduce {

namespace {

constexpr size_t kMostFutures = 64;  // looked at per batch
const char* const kNames[] = {"same", "pass", "other", "infra"};

// A search as it would be after answers that are not known yet.
struct Future {
  double chance;
  size_t order;  // ties are looked at in the order they were found
  std::shared_ptr<Search> search;
  bool operator<(const Future& other) const {
    return chance != other.chance ? chance < other.chance : order > other.order;
  }
};

}  // namespace

const char* name(Verdict verdict) { return kNames[static_cast<size_t>(verdict)]; }

Reducer::Reducer(std::unique_ptr<Search> search, int64_t budget)
    : search_(std::move(search)), budget_(budget) {}

bool Reducer::done() const { return search_->done() || calls_ >= budget_; }

void Reducer::answer(const Known& known) {
  const bool first = used_.emplace(search_->question(), true).second;
  const bool counted = known.counted && first;
  steps_.push_back({known.candidate, search_->what(), known.verdict, counted});
  calls_ += counted;
  search_->answer(known.verdict);
}

void Reducer::advance() {
  while (!done()) {
    const auto found = known_.find(search_->question());
    if (found == known_.end()) return;
    answer(found->second);
  }
}

void Reducer::each_likely(const std::function<bool(const Search&, double chance)>& wants) const {
  if (done()) return;
  std::set<Choice> seen;
  std::priority_queue<Future> futures;
  size_t made = 0;
  const auto add = [&](std::shared_ptr<Search> search, double chance) {
    // What is known already is answered on the way.
    for (auto found = known_.end(); !search->done(); search->answer(found->second.verdict)) {
      found = known_.find(search->question());
      if (found == known_.end()) break;
    }
    if (!search->done() && made < kMostFutures) futures.push({chance, made++, std::move(search)});
  };
  add(search_->clone(), 1);
  while (!futures.empty()) {
    const Future next = futures.top();
    futures.pop();
    const Search& search = *next.search;
    if (seen.insert(search.question()).second && !wants(search, next.chance)) return;
    for (const Verdict verdict : {Verdict::kPass, Verdict::kSame}) {
      std::shared_ptr<Search> after = search.clone();
      after->answer(verdict);
      add(std::move(after),
          next.chance * (verdict == Verdict::kSame ? search.chance() : 1 - search.chance()));
    }
  }
}

bool Reducer::is_asked(const Choice& choice) const {
  return std::ranges::any_of(asked_, [&](const auto& each) { return each.second == choice; });
}

std::vector<Reducer::Candidate> Reducer::next_batch(int count) {
  std::vector<Candidate> batch;
  if (count < 1) return batch;
  each_likely([&](const Search& search, double) {
    if (!is_asked(search.question())) {
      batch.push_back({next_id_++, search.question(), search.what()});
      asked_.emplace(batch.back().id, batch.back().choice);
    }
    return static_cast<int>(batch.size()) < count;
  });
  return batch;
}

std::vector<Reducer::Likely> Reducer::look_ahead(int count, double least) const {
  std::vector<Likely> likely;
  if (count < 1) return likely;
  each_likely([&](const Search& search, double chance) {
    if (chance < least) return false;
    if (!is_asked(search.question())) likely.push_back({search.question(), chance});
    return static_cast<int>(likely.size()) < count;
  });
  return likely;
}

Status Reducer::report(int id, Verdict verdict, bool counted) {
  const auto found = asked_.find(id);
  if (found == asked_.end())
    return Error::unsupported("reduce", fmt::format("candidate {} is not waiting for a verdict", id));
  known_.emplace(found->second, Known{id, verdict, counted});
  asked_.erase(found);
  advance();
  return ok_status();
}

int64_t Reducer::bound() const { return done() ? 0 : std::min(search_->bound(), budget_ - calls_); }

}  // namespace suture::toolbox::reduce
