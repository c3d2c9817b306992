// What the code objects of one tree share while they are structured, and what a nested one must know of those around it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "toolbox/decompile/structure.h"

namespace suture::toolbox {

enum class CodeKind : uint8_t { kModule, kClass, kFunction, kLambda, kComprehension, kTypeParameters };

// One code object on the path from the root.
struct Scope {
  const CodeTree* code = nullptr;
  CodeKind kind = CodeKind::kModule;
  const Scope* parent = nullptr;
  int depth = 0;
  // Of the function that makes a generic function: the arguments `.defaults` and `.kwdefaults`.
  std::map<std::string, syntax::Expression*> arguments;
  std::string class_name;  // the class whose private names are mangled here; empty: none

  const CodeView& view() const { return code->view; }
};

struct Builder {
  syntax::SyntaxTree& tree;
  const StructureOptions& options;
};

inline constexpr int kMaxNestedCode = 60;  // code objects in code objects
// Branches in branches; of a long chain of `elif`, too. (Python's own limit is 100 blocks of indentation.)
inline constexpr int kMaxStatementDepth = 400;

CodeKind kind_of_code(const CodeTree& code, const Scope* parent);

// Function parts that the code object does not hold.
struct FunctionParts {
  const CodeTree* code = nullptr;
  syntax::Expressions defaults;
  std::vector<syntax::Keyword> keyword_defaults;
  std::vector<syntax::Keyword> annotations;
  syntax::TypeParams type_params;
};
struct ClassParts {
  const CodeTree* code = nullptr;
  std::string name;
  syntax::Expressions bases;
  std::vector<syntax::Keyword> keywords;
  syntax::TypeParams type_params;
};
struct TypeAliasParts {
  std::string name;
  syntax::TypeParams type_params;
  syntax::Expression* value = nullptr;
};
// What the compiler's function `<generic parameters of NAME>` makes: a function, a class or a type alias with its parameters.
struct Generic {
  std::shared_ptr<FunctionParts> function;
  std::shared_ptr<ClassParts> class_parts;
  std::shared_ptr<TypeAliasParts> alias;
};
Result<Generic> make_generic(Builder& builder, const Scope& around, const CodeTree& code,
                             const std::vector<syntax::Expression*>& arguments);
// __name of a class, from the name the compiler has made of it.
std::string unmangled(const std::string& class_name, const std::string& name);
inline std::string unmangled(const Scope& scope, const std::string& name) {
  return unmangled(scope.class_name, name);
}

Result<syntax::Statement*> make_function(Builder& builder, const Scope& around, const FunctionParts& parts,
                                         syntax::Expressions decorators);
Result<syntax::Statement*> make_class(Builder& builder, const Scope& around, const ClassParts& parts,
                                      syntax::Expressions decorators);
Result<syntax::Expression*> make_lambda(Builder& builder, const Scope& around, const FunctionParts& parts);
// Variables of the code around that a comprehension assigns to: `[x := i for i in y]`.
struct AssignedOutside {
  std::set<std::string> globals, nonlocals;
};
// `first_iterable` takes the place of the argument that holds it.
Result<syntax::Expression*> make_comprehension(Builder& builder, const Scope& around, const CodeTree& code,
                                               syntax::Expression* first_iterable, AssignedOutside& assigned);

}  // namespace suture::toolbox
