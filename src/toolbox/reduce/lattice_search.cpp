#include "toolbox/reduce/lattice_search.h"

#include <fmt/format.h>

#include <algorithm>

namespace suture::toolbox::reduce {

namespace {

class LatticeSearch final : public Search {
 public:
  explicit LatticeSearch(std::shared_ptr<const std::vector<int>> levels) : levels_(std::move(levels)) {
    best_.assign(levels_->size(), 0);
    begin_pass();
    plan();
  }

  std::unique_ptr<Search> clone() const override { return std::make_unique<LatticeSearch>(*this); }
  bool done() const override { return done_; }
  const Choice& question() const override { return question_; }
  std::string what() const override;
  double chance() const override { return passes_ == 0 && groups_.back().begin == 0 ? 0.5 : 0.3; }
  void answer(Verdict verdict) override;
  const Choice& best() const override { return best_; }
  int64_t bound() const override;

 private:
  struct Group {  // elements [begin, end) of open_; a single element goes on with `level`
    size_t begin, end;
    int level;
  };

  int levels(int element) const { return (*levels_)[static_cast<size_t>(element)]; }
  int reached(int element) const { return best_[static_cast<size_t>(element)]; }
  int simpler_forms(int element) const;
  void begin_pass();
  void plan();

  std::shared_ptr<const std::vector<int>> levels_;
  Choice best_, question_;
  std::vector<int> open_;      // elements that can be simplified further
  std::vector<Group> groups_;  // to try; the next one last
  int passes_ = 0;
  bool progress_ = false, done_ = false;
};

// Forms that are simpler than the one that was reached.
int LatticeSearch::simpler_forms(int element) const {
  return reached(element) == 0 ? levels(element) : reached(element) - 1;
}

void LatticeSearch::begin_pass() {
  open_.clear();
  progress_ = false;
  for (int i = 0; i < static_cast<int>(best_.size()); ++i)
    if (simpler_forms(i) > 0) open_.push_back(i);
  if (!open_.empty()) groups_.push_back({0, open_.size(), 1});
}

void LatticeSearch::plan() {
  for (;;) {
    if (groups_.empty()) {
      if (!progress_) {
        done_ = true;
        return;
      }
      ++passes_;
      begin_pass();
      continue;
    }
    const Group group = groups_.back();
    const bool exhausted = group.level > 1 && group.level > simpler_forms(open_[group.begin]);
    if (!exhausted) {
      question_ = best_;
      for (size_t i = group.begin; i < group.end; ++i) question_[static_cast<size_t>(open_[i])] = group.level;
      if (question_ != best_) return;
    }
    groups_.pop_back();
  }
}

void LatticeSearch::answer(Verdict verdict) {
  const Group group = groups_.back();
  groups_.pop_back();
  if (verdict == Verdict::kSame) {
    best_ = question_;
    progress_ = true;
  } else if (group.end - group.begin > 1) {
    const size_t middle = group.begin + (group.end - group.begin) / 2;
    groups_.push_back({middle, group.end, 1});
    groups_.push_back({group.begin, middle, 1});
  } else {
    groups_.push_back({group.begin, group.end, group.level + 1});
  }
  plan();
}

std::string LatticeSearch::what() const {
  const Group& group = groups_.back();
  const size_t count = group.end - group.begin;
  return count > 1 ? fmt::format("simplest form of {} properties", count)
                   : fmt::format("form {} of {} of one property", group.level, levels(open_[group.begin]));
}

// A pass splits every group at most, and every pass but the last makes some element simpler.
int64_t LatticeSearch::bound() const {
  if (done_) return 0;
  int64_t forms = 0, open = 0;
  for (int i = 0; i < static_cast<int>(best_.size()); ++i) {
    forms += simpler_forms(i);
    open += simpler_forms(i) > 0;
  }
  return (2 * open + forms + 1) * (forms + 1);
}

}  // namespace

Status check_lattice(const std::vector<int>& levels) {
  const bool lawful = std::ranges::all_of(levels, [](int count) { return count >= 0; });
  return lawful ? ok_status()
                : Status(Error::unsupported("reduce", "an element cannot have less than 0 levels"));
}

std::unique_ptr<Search> search_lattice(std::vector<int> levels) {
  return std::make_unique<LatticeSearch>(std::make_shared<const std::vector<int>>(std::move(levels)));
}

}  // namespace suture::toolbox::reduce
