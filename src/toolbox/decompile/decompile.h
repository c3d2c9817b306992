// The decompiler: a tree of code objects -> Python source with a verdict for every code object in it.
//
// How it works
//   Every function, class and module is tried in the tiers from the top:
//     1  structured, idiomatic (structure.h)
//     2  nested statements with flags and temporaries (flag_flow.h)
//     3  a dispatch loop (dispatch_loop.h)
//     4  annotated disassembly with the reason (disassembly.h)
//   The whole text is compiled by an interpreter of the code's version and compared with the original
//   (verify/same_bytecode.h). What differs goes to its next attempt, alone: its neighbours and what is around it stay. So
//   nothing is printed in tiers 1 to 3 that has not been proved, unless there is no such interpreter, which the verdict says.
//   When the text as a whole does not compile, each function is compiled on its own to find the guilty one.
// Lambdas, comprehensions and the like are part of the function around them and fall with it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bytecode/code_tree.h"

namespace suture::toolbox {

enum class Tier { kIdiomatic = 1, kStructured = 2, kDispatchLoop = 3, kDisassembly = 4 };

// Source -> the marshalled code of a module, or an Error with what the compiler says. `flags`: the future features
// (`co_flags`) that are in force.
using CompileSource = std::function<Result<std::string>(const std::string& source, int flags)>;

// What only a function object knows; prints in the header of the definition. Values are constants or placeholders.
struct FunctionFacts {
  bool known = false;
  std::vector<Constant> defaults;
  std::vector<std::pair<std::string, Constant>> keyword_defaults;
  struct Annotation {
    std::string parameter;  // "return": of the result
    std::string name;       // a dotted name, or empty: `value`
    Constant value;
  };
  std::vector<Annotation> annotations;
};

struct DecompileOptions {
  CompileSource compile;     // null: nothing can be verified,
  std::string unverifiable;  // for this reason
  FunctionFacts function;
  std::string qualname;                // see VerifyOptions::first_qualname
  Tier first_tier = Tier::kIdiomatic;  // of every function; for tests and for looking at lower tiers
  // The text compiles as it is: a function that assigns variables of one around it (`nonlocal`) stands in one.
  bool as_module = false;
};

struct CodeReport {
  const CodeTree* code = nullptr;
  Tier tier = Tier::kIdiomatic;
  // "verified: same bytecode", "verified: path-equivalent[, with variables of its own in sight of <what>]", either with
  // [", with _K[i] for constants that are no literals"] and [", apart from renamed names"]; or "unverified: <why>"
  std::string verdict;
  std::string note;  // why it is not in a higher tier; else ""
};

struct Decompilation {
  std::string source;
  std::vector<CodeReport> codes;  // of the whole tree, parents first
  Tier tier = Tier::kIdiomatic;   // the lowest that occurs
  std::string verdict;            // the weakest that occurs
  // Names that are no identifiers, and what the text calls them (renamed_code.h).
  std::map<std::string, std::string> renamed;
};

// Never fails: what cannot be read at all is disassembled.
Decompilation decompile(const CodeTree& code, const DecompileOptions& options);

}  // namespace suture::toolbox
