#include "toolbox/reduce/op_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace suture::toolbox::reduce {

namespace {

constexpr int kMostStuck =
    8;  // needed ops in a row, found without dropping anything, before chunks take over
constexpr double kFirstChance = 0.1;  // CDD: chance that an element is needed
const double kGrowth = 1 / (1 - std::exp(-1.0));

int64_t halvings(size_t count) { return count > 1 ? std::bit_width(count - 1) : 0; }

class OpSearch final : public Search {
 public:
  explicit OpSearch(std::shared_ptr<const OpProblem> problem);

  std::unique_ptr<Search> clone() const override { return std::make_unique<OpSearch>(*this); }
  bool done() const override { return phase_ == Phase::kDone; }
  const Choice& question() const override { return question_; }
  std::string what() const override { return what_; }
  double chance() const override;
  void answer(Verdict verdict) override;
  const Choice& best() const override { return best_; }
  int64_t bound() const override;

 private:
  enum class Phase : uint8_t {
    kSuspects,
    kPrefix,
    kSuffix,
    kFirst,
    kAll,
    kNext,
    kOne,
    kChunks,
    kSingles,
    kOutputs,
    kAllNumbers,
    kNumbers,
    kDone
  };
  enum class Way : uint8_t { kCutting, kBypassing };
  struct Attempt {
    int element;
    int fate;
  };

  std::vector<int> kept() const;
  bool kept(int node) const { return best_[static_cast<size_t>(node)] == kKeep; }
  const OpNode& node(int i) const { return problem_->nodes[static_cast<size_t>(i)]; }
  int read(int i) const;
  std::vector<bool> values_read() const;
  Choice without(std::span<const int> ops, Way way) const;
  bool ask(Choice question, std::string what);
  bool ask_drop(std::span<const int> ops, Way way);
  bool ask_attempt();

  void plan();
  bool plan_phase();
  bool plan_suspects();
  bool plan_prefix();
  bool plan_suffix();
  bool plan_all();
  bool plan_next();
  bool plan_one();
  bool plan_chunks();
  bool plan_all_numbers();
  bool plan_attempts();
  void enter(Phase phase);
  void enter_interior();
  void enter_chunks();
  void next_chunk_size();
  void settle_last_of_rest();
  void took(bool same);

  std::shared_ptr<const OpProblem> problem_;
  Choice best_, question_;
  std::string what_;
  Phase phase_ = Phase::kSuspects;
  std::vector<int> ops_;   // kept ops when the phase began
  std::vector<int> rest_;  // interior: not known to be needed
  size_t lo_ = 0, hi_ = 0, mid_ = 0;
  Way way_ = Way::kCutting;        // preferred
  Way asked_way_ = Way::kCutting;  // of the question
  bool other_way_next_ = false;
  int stuck_ = 0;
  size_t chunk_ = 0, at_ = 0;
  double chunk_chance_ = kFirstChance;
  std::vector<Attempt> attempts_;  // left in this pass, the next one last
  bool progress_ = false;          // in this pass
  bool loosened_ = false;          // outputs or numbers changed since the last pass of singles
};

OpSearch::OpSearch(std::shared_ptr<const OpProblem> problem) : problem_(std::move(problem)) {
  best_.assign(problem_->nodes.size() + problem_->outputs.size(), kKeep);
  enter(Phase::kSuspects);
  plan();
}

std::vector<int> OpSearch::kept() const {
  std::vector<int> ops;
  for (int i = 0; i < static_cast<int>(problem_->nodes.size()); ++i)
    if (node(i).op && kept(i)) ops.push_back(i);
  return ops;
}

// The value that stands for node i.
int OpSearch::read(int i) const {
  for (int fate = best_[static_cast<size_t>(i)]; fate >= kBypass; fate = best_[static_cast<size_t>(i)])
    i = node(i).operands[static_cast<size_t>(fate - kBypass)];
  return i;
}

std::vector<bool> OpSearch::values_read() const {
  std::vector<bool> used(problem_->nodes.size(), false);
  for (int op : kept())
    for (int operand : node(op).operands) used[static_cast<size_t>(read(operand))] = true;
  return used;
}

Choice OpSearch::without(std::span<const int> ops, Way way) const {
  Choice choice = best_;
  for (int op : ops) {
    if (!kept(op)) continue;
    const bool bypass = way == Way::kBypassing && !node(op).bypass.empty();
    choice[static_cast<size_t>(op)] = bypass ? kBypass + node(op).bypass.front() : kCut;
  }
  return choice;
}

bool OpSearch::ask(Choice question, std::string what) {
  if (question == best_) return false;
  question_ = std::move(question);
  what_ = std::move(what);
  return true;
}

bool OpSearch::ask_drop(std::span<const int> ops, Way way) {
  asked_way_ = way;
  const char* verb = way == Way::kCutting ? "drop" : "bypass";
  const auto dropped = std::ranges::count_if(ops, [&](int op) { return kept(op); });
  return ask(without(ops, way), fmt::format("{} {} of {} ops", verb, dropped, kept().size()));
}

// --- phases ------------------------------------------------------------------------------------------------

void OpSearch::enter(Phase phase) {
  phase_ = phase;
  ops_ = kept();
  lo_ = 0;
  hi_ = ops_.size();
  attempts_.clear();
  progress_ = false;
  if (phase == Phase::kSingles) {
    for (int op : ops_) {
      for (size_t k = node(op).operands.size(); k-- > 0;)
        attempts_.push_back({op, kBypass + static_cast<int>(k)});
      attempts_.push_back({op, kCut});
    }
  }
  const std::vector<bool> used = values_read();
  if (phase == Phase::kOutputs) {
    for (size_t i = problem_->outputs.size(); i-- > 0;) {
      const int value = read(problem_->outputs[i]);
      const bool returned = kept(value) || !node(value).op;
      // Values nobody reads are returned in any case.
      if (returned && (used[static_cast<size_t>(value)] || !node(value).op))
        attempts_.push_back({static_cast<int>(problem_->nodes.size() + i), 1});
    }
  }
  if (phase == Phase::kNumbers || phase == Phase::kAllNumbers) {
    for (int i = static_cast<int>(problem_->nodes.size()); i-- > 0;)
      if (used[static_cast<size_t>(i)] && node(i).may_be_number && !(node(i).op && kept(i)))
        attempts_.push_back({i, kNumber});
  }
}

// The next set alone; at_ counts the sets.
bool OpSearch::plan_suspects() {
  for (; at_ < problem_->suspects.size(); ++at_) {
    const Suspects& suspects = problem_->suspects[at_];
    std::vector<int> others;
    std::ranges::copy_if(ops_, std::back_inserter(others),
                         [&](int op) { return std::ranges::find(suspects.ops, op) == suspects.ops.end(); });
    const size_t left = ops_.size() - others.size();
    if (left > 0 && ask(without(others, suspects.paths ? Way::kBypassing : Way::kCutting),
                        fmt::format("keep {} of {} ops: {}", left, ops_.size(), suspects.why)))
      return true;
  }
  enter(Phase::kPrefix);
  return false;
}

bool OpSearch::plan_prefix() {
  if (hi_ - lo_ <= 1) return enter(Phase::kSuffix), false;
  mid_ = lo_ + (hi_ - lo_) / 2;
  return ask_drop(std::span(ops_).subspan(mid_), Way::kCutting);
}

bool OpSearch::plan_suffix() {
  if (hi_ - lo_ > 1) {
    mid_ = lo_ + (hi_ - lo_) / 2;
    return ask_drop(std::span(ops_).first(mid_), Way::kCutting);
  }
  const bool first_is_needed = lo_ > 0;
  ops_ = kept();
  if (ops_.size() < 2) return enter(Phase::kSingles), false;
  phase_ = first_is_needed ? Phase::kAll : Phase::kFirst;
  enter_interior();
  // Nothing could be cut off: perhaps only because the path to the first op matters.
  return !first_is_needed && ask_drop(std::span(ops_).first(1), Way::kBypassing);
}

void OpSearch::enter_interior() {
  rest_.assign(ops_.begin() + 1, ops_.end() - 1);
  stuck_ = 0;
  other_way_next_ = false;
}

// All of the rest at once: the preferred way, then the other.
bool OpSearch::plan_all() {
  if (rest_.empty()) return enter(Phase::kSingles), false;
  const Way other = way_ == Way::kCutting ? Way::kBypassing : Way::kCutting;
  return ask_drop(rest_, other_way_next_ ? other : way_);
}

bool OpSearch::plan_next() {
  if (hi_ - lo_ <= 1) return settle_last_of_rest(), false;
  mid_ = lo_ + (hi_ - lo_) / 2;
  return ask_drop(std::span(rest_).subspan(mid_), way_);
}

// rest_[hi_ - 1] is needed when things are dropped the preferred way.
void OpSearch::settle_last_of_rest() {
  if (hi_ == rest_.size()) {
    phase_ = Phase::kOne;
    return;
  }
  rest_.resize(hi_ - 1);
  stuck_ = 0;
  phase_ = Phase::kAll;
}

bool OpSearch::plan_one() {
  const Way other = way_ == Way::kCutting ? Way::kBypassing : Way::kCutting;
  if (ask_drop(std::span(rest_).last(1), other) && question_ != without(std::span(rest_).last(1), way_))
    return true;
  took(false);
  return false;
}

void OpSearch::enter_chunks() {
  enter(Phase::kChunks);
  chunk_chance_ = kFirstChance;
  chunk_ = std::max<size_t>(ops_.size() / 2, 1);
  at_ = 0;
  asked_way_ = Way::kBypassing;  // so that the first question cuts
}

void OpSearch::next_chunk_size() {
  const size_t counted = static_cast<size_t>(std::max(1.0, std::round(-1 / std::log(1 - chunk_chance_))));
  if (chunk_ / 2 > counted) {
    chunk_ /= 2;
  } else if (chunk_ > counted) {
    chunk_ = counted;
  } else {
    chunk_chance_ = std::min(chunk_chance_ * kGrowth, 0.99);
    chunk_ = std::min(chunk_ - 1, counted);
  }
  at_ = 0;
  ops_ = kept();
}

bool OpSearch::plan_chunks() {
  while (chunk_ > 1) {
    for (; at_ < ops_.size(); at_ += chunk_, asked_way_ = Way::kBypassing) {
      const std::span<const int> chunk = std::span(ops_).subspan(at_, std::min(chunk_, ops_.size() - at_));
      const bool cut_first = asked_way_ == Way::kBypassing;
      if (chunk.size() < kept().size() && ask_drop(chunk, cut_first ? Way::kCutting : Way::kBypassing))
        return true;
    }
    next_chunk_size();
  }
  enter(Phase::kSingles);
  return false;
}

bool OpSearch::ask_attempt() {
  const Attempt attempt = attempts_.back();
  const size_t element = static_cast<size_t>(attempt.element);
  Choice choice = best_;
  choice[element] = attempt.fate;
  if (element >= problem_->nodes.size()) return ask(std::move(choice), "return one value less");
  if (attempt.fate == kNumber) return ask(std::move(choice), "a number instead of an input");
  const size_t left = kept().size();
  if (!kept(attempt.element) || left < 2) return false;
  return ask(std::move(choice), (attempt.fate == kCut ? "drop 1 of " : "an operand instead of 1 of ") +
                                    std::to_string(left) + " ops");
}

bool OpSearch::plan_all_numbers() {
  if (attempts_.size() < 2) {
    phase_ = Phase::kNumbers;
    return false;
  }
  Choice choice = best_;
  for (const Attempt& attempt : attempts_) choice[static_cast<size_t>(attempt.element)] = kNumber;
  return ask(std::move(choice), fmt::format("numbers instead of all {} inputs", attempts_.size()));
}

bool OpSearch::plan_attempts() {
  for (; !attempts_.empty(); attempts_.pop_back())
    if (ask_attempt()) return true;
  switch (phase_) {
    case Phase::kSingles:
      if (progress_) {
        ops_.size() > kMostStuck ? enter_chunks() : enter(Phase::kSingles);
      } else {
        enter(std::exchange(loosened_, false) ? Phase::kDone : Phase::kOutputs);
      }
      break;
    case Phase::kOutputs:
      loosened_ = progress_;
      enter(Phase::kAllNumbers);
      break;
    default: loosened_ |= progress_; enter(loosened_ ? Phase::kSingles : Phase::kDone);
  }
  return false;
}

bool OpSearch::plan_phase() {
  switch (phase_) {
    case Phase::kSuspects: return plan_suspects();
    case Phase::kPrefix: return plan_prefix();
    case Phase::kSuffix: return plan_suffix();
    case Phase::kFirst: phase_ = Phase::kAll; return false;
    case Phase::kAll: return plan_all();
    case Phase::kNext: return plan_next();
    case Phase::kOne: return plan_one();
    case Phase::kChunks: return plan_chunks();
    case Phase::kAllNumbers: return plan_all_numbers();
    default: return plan_attempts();
  }
}

void OpSearch::plan() {
  while (phase_ != Phase::kDone && !plan_phase()) {
  }
}

// What the answer to the last question means for the phase.
void OpSearch::took(bool same) {
  switch (phase_) {
    case Phase::kSuspects: same ? enter(Phase::kPrefix) : void(++at_); break;
    case Phase::kPrefix: (same ? hi_ : lo_) = mid_; break;
    case Phase::kSuffix: (same ? lo_ : hi_) = mid_; break;
    case Phase::kFirst: phase_ = Phase::kAll; break;
    case Phase::kAll:
      if (same) rest_.clear();
      if (same || other_way_next_) {
        phase_ = same ? Phase::kAll : Phase::kNext;
        lo_ = 0;
        hi_ = rest_.size();
      }
      other_way_next_ = !same && !other_way_next_;
      break;
    case Phase::kNext: (same ? hi_ : lo_) = mid_; break;
    case Phase::kOne:
      if (same) way_ = asked_way_;
      rest_.pop_back();
      phase_ = Phase::kAll;
      stuck_ = same ? 0 : stuck_ + 1;
      if (stuck_ > kMostStuck && rest_.size() > kMostStuck) enter_chunks();
      break;
    case Phase::kChunks:
      if (same || asked_way_ == Way::kBypassing) {
        at_ += chunk_;
        asked_way_ = Way::kBypassing;
      }
      break;
    case Phase::kAllNumbers:
      progress_ = same;
      if (same) attempts_.clear();
      phase_ = Phase::kNumbers;
      break;
    default: progress_ |= same; attempts_.pop_back();
  }
}

void OpSearch::answer(Verdict verdict) {
  const bool same = verdict == Verdict::kSame;
  if (same) best_ = question_;
  took(same);
  plan();
}

double OpSearch::chance() const {
  switch (phase_) {
    case Phase::kSuspects: return 0.6;
    case Phase::kPrefix:
    case Phase::kSuffix:
    case Phase::kNext: return 0.5;
    case Phase::kAll: return 0.4;
    default: return 0.15;
  }
}

// Every pass of singles but the last removes an op, and is followed by chunks at most.
int64_t OpSearch::bound() const {
  const std::vector<int> ops = kept();
  const int64_t count = static_cast<int64_t>(ops.size());
  int64_t attempts = 0, inputs = 0;
  for (int op : ops) attempts += 1 + static_cast<int64_t>(node(op).operands.size());
  inputs = attempts + static_cast<int64_t>(problem_->nodes.size());
  const int64_t outputs = static_cast<int64_t>(problem_->outputs.size());
  const int64_t pass = attempts + 8 * count;  // singles, then chunks of all sizes both ways
  int64_t left = (count + 2) * pass + outputs + inputs;
  switch (phase_) {
    case Phase::kDone: return 0;
    case Phase::kOutputs:
    case Phase::kAllNumbers:
    case Phase::kNumbers:
      left = static_cast<int64_t>(attempts_.size()) + 1 + inputs + (count + 1) * pass;
      break;
    case Phase::kSuspects: left += static_cast<int64_t>(problem_->suspects.size() - at_); [[fallthrough]];
    case Phase::kPrefix: left += halvings(hi_ - lo_) + halvings(hi_) + 1; [[fallthrough]];
    case Phase::kSuffix: left += halvings(hi_ - lo_) + 1; [[fallthrough]];
    default: left += count * (halvings(ops.size()) + 4);
  }
  return left;
}

}  // namespace

Status check(const OpProblem& problem) {
  const int count = static_cast<int>(problem.nodes.size());
  for (int i = 0; i < count; ++i) {
    const OpNode& node = problem.nodes[static_cast<size_t>(i)];
    for (int operand : node.operands)
      if (operand < 0 || operand >= i)
        return Error::unsupported("reduce",
                                  fmt::format("operand {} of node {} is no earlier node", operand, i));
    for (int k : node.bypass)
      if (k < 0 || k >= static_cast<int>(node.operands.size()))
        return Error::unsupported("reduce", fmt::format("node {} has no operand number {}", i, k));
  }
  for (const Suspects& suspects : problem.suspects)
    for (int op : suspects.ops)
      if (op < 0 || op >= count || !problem.nodes[static_cast<size_t>(op)].op)
        return Error::unsupported("reduce", fmt::format("suspect {} is no op", op));
  for (int output : problem.outputs)
    if (output < 0 || output >= count)
      return Error::unsupported("reduce", fmt::format("output {} is no node", output));
  return ok_status();
}

std::unique_ptr<Search> search_ops(OpProblem problem) {
  return std::make_unique<OpSearch>(std::make_shared<const OpProblem>(std::move(problem)));
}

}  // namespace suture::toolbox::reduce
