// A search asks one question after another, "does this simplification still fail?", and ends with the simplest choice that
// did. It knows nothing of what it simplifies: a choice is a number per element, 0 for "as it is".
//
// Invariants
//   - A search is a function of its answers: equal answers give equal questions, so a run can be replayed, and copies of a
//     search can look ahead while the oracle works.
//   - best() is the starting point or a choice that was answered kSame; nothing else ever becomes best.
//   - bound() is at least the number of questions that are still asked, whatever the answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace suture::toolbox::reduce {

enum class Verdict : uint8_t {
  kSame,   // fails in the same way
  kPass,   // does not fail
  kOther,  // fails in another way
  kInfra,  // cannot be judged
};

using Choice = std::vector<int>;

class Search {
 public:
  virtual ~Search() = default;
  virtual std::unique_ptr<Search> clone() const = 0;
  virtual bool done() const = 0;
  virtual const Choice& question() const = 0;  // while !done()
  virtual std::string what() const = 0;        // the question in words: "drop 250 of 500 ops"
  virtual double chance() const = 0;  // guess that the answer is kSame, to look ahead along the likely path
  virtual void answer(Verdict verdict) = 0;
  virtual const Choice& best() const = 0;
  virtual int64_t bound() const = 0;
};

}  // namespace suture::toolbox::reduce
