// Reducer: runs a search against an oracle that works elsewhere, perhaps on several candidates at a time.
//
//   while (!reducer.done())
//     for (candidate : reducer.next_batch(workers)) reducer.report(candidate.id, verdict of candidate);
//
// The search itself advances serially: only the answer to its current question moves it. With more than one worker the batch
// holds the current question and those that would follow for likely answers; their verdicts wait in the cache until the search
// asks, or are never used. So the result and the serial answers are the same for any number of workers.
//
// Questions that were asked before are answered from the cache and cost nothing. What will be asked soon can be looked at ahead of
// time, for whoever prepares several candidates at less cost than one after another.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "toolbox/reduce/search.h"

namespace suture::toolbox::reduce {

class Reducer {
 public:
  struct Candidate {
    int id = 0;
    Choice choice;
    std::string what;
  };
  struct Likely {  // that may be asked later
    Choice choice;
    double chance;
  };
  struct Step {         // a serial answer
    int candidate = 0;  // that had this verdict
    std::string what;
    Verdict verdict = Verdict::kPass;
    bool counted = true;  // the oracle was asked
  };

  // `budget`: counted answers after which the search ends where it is.
  Reducer(std::unique_ptr<Search> search, int64_t budget);

  bool done() const;
  bool out_of_budget() const { return calls_ >= budget_ && !search_->done(); }
  // Up to `count` candidates whose verdicts are wanted, most urgent first; none twice. Empty
  // when done, or while everything worth asking is being judged.
  std::vector<Candidate> next_batch(int count);
  // Up to `count` questions that nobody judges yet and that will be asked with at least this chance, most likely first. Nothing
  // changes: who prepares for them waits for nothing.
  std::vector<Likely> look_ahead(int count, double least) const;
  // `counted`: the oracle was asked; false for what was known or could not be built. kUnsupported: no such candidate.
  Status report(int id, Verdict verdict, bool counted = true);

  const Choice& best() const { return search_->best(); }
  int64_t calls() const { return calls_; }
  int64_t bound() const;  // counted answers that are still needed, at most
  const std::vector<Step>& steps() const { return steps_; }

 private:
  struct Known {
    int candidate;
    Verdict verdict;
    bool counted;
  };
  bool is_asked(const Choice& choice) const;
  void advance();
  void answer(const Known& known);
  // Questions without a verdict in the order of their chance, each once, as long as `wants` says so.
  void each_likely(const std::function<bool(const Search&, double chance)>& wants) const;

  std::unique_ptr<Search> search_;
  int64_t budget_, calls_ = 0;
  int next_id_ = 1;
  std::map<Choice, Known> known_;
  std::map<Choice, bool> used_;  // answers that were given to the search
  std::map<int, Choice> asked_;  // candidates without a verdict
  std::vector<Step> steps_;
};

const char* name(Verdict verdict);

}  // namespace suture::toolbox::reduce
