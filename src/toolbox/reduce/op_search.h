// Reduction of a set of ops: which nodes of a graph does a failure need?
//
// What a choice says, per node
//   kKeep    the node stays
//   kCut     it goes; who reads it reads its recorded value (it becomes an input), and values nobody reads are returned
//   kNumber  it goes; who reads it reads a Python number
//   kBypass + k   it goes; who reads it reads its operand k: what depended on it still depends on what it depended on
// Behind the nodes: per output of the graph, 1 when it is not returned any more.
//
// How it works
//   0. suspects   sets of ops that evidence names (who calls the search knows which: the failure's own words, the first value
//                 that is wrong): each alone, in the order given, until one fails. A set that does not fail costs its question
//                 and changes nothing else: misleading evidence costs as many questions as there are sets.
//   1. prefix     bisect for the shortest prefix that fails (whole paths are kept)
//   2. suffix     bisect for the longest beginning that can be cut off
//   3. interior   what lies between the first and the last op: all of it is dropped, or bisection finds the next op that is
//                 needed, from the end: k needed ops of n cost about k * log2(n) questions. Two ways of dropping compete: cutting keeps values
//                 and breaks paths, bypassing keeps paths (a fusing compiler sees one chain) and changes values; the one
//                 that got further is preferred, the other is asked where the first is stuck.
//   4. singles    each op left is cut, or replaced by each of its operands, until no single step helps: 1-minimal
//   5. chunks     only when the answers turn out not to be monotone (something that was needed goes after all, or much seems
//                 needed): deletion of chunks with the round sizes of counter-based delta debugging (CDD), then 4 again
//   6. outputs that others read, and inputs that can be numbers: all of them at once, then one by one
//
// Sources: Zeller and Hildebrandt 2002 (1-minimality), Junker 2004 (QuickXplain: the next needed element by bisection),
// Wang et al. 2021 (probabilistic delta debugging: what is likelier to be needed decides what is asked first), Zhang et al. 2024
// (CDD: sizes -1/ln(1-p), p growing by 1/(1-1/e) per round).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "toolbox/reduce/search.h"

namespace suture::toolbox::reduce {

enum OpFate : int { kKeep = 0, kCut = 1, kNumber = 2, kBypass = 3 };

struct OpNode {
  bool op = true;              // false: an input, which can only become a number
  bool may_be_number = false;  // a number can stand for the value
  std::vector<int> operands;   // earlier nodes
  std::vector<int>
      bypass;  // indices into operands that can stand for the result when many nodes go at once, best first
};

struct Suspects {
  std::vector<int> ops;  // that may be all that the failure needs
  std::string why;       // "named by the message"
  bool paths = false;    // the others are bypassed instead of cut
};

struct OpProblem {
  std::vector<OpNode> nodes;       // in program order
  std::vector<int> outputs;        // nodes
  std::vector<Suspects> suspects;  // best evidence first
};

// kUnsupported when operands are no earlier nodes, or suspects are no ops.
Status check(const OpProblem& problem);
std::unique_ptr<Search> search_ops(OpProblem problem);

}  // namespace suture::toolbox::reduce
