#include "toolbox/decompile/standalone.h"

#include <algorithm>

#include <fmt/format.h>

namespace suture::toolbox {

using namespace syntax;  // NOLINT: makes nodes

namespace {

constexpr int kAsynchronous = kCodeCoroutine | kCodeAsyncGenerator;

std::vector<std::string> free_variables(const CodeView& view) {
  std::vector<std::string> names;
  for (size_t i = 0; i < view.local_names.size() && i < view.local_kinds.size(); ++i) {
    if (view.local_kinds[i] & kLocalFree) names.push_back(view.local_names[i]);
  }
  return names;
}

Arguments parameters(const CodeView& view) {
  Arguments args;
  size_t next = 0;
  const auto take = [&] { return Arg{next < view.local_names.size() ? view.local_names[next++] : ""}; };
  for (int i = 0; i < view.arg_count; ++i)
    (i < view.posonly_count ? args.posonlyargs : args.args).push_back(take());
  for (int i = 0; i < view.kwonly_count; ++i) {
    args.kwonlyargs.push_back(take());
    args.kw_defaults.push_back(nullptr);
  }
  if (view.flags & kCodeVarArgs) args.vararg = take();
  if (view.flags & kCodeVarKeywords) args.kwarg = take();
  return args;
}

void add_bodies(const std::vector<ExceptHandler>& handlers, std::vector<const Statements*>& to) {
  for (const ExceptHandler& handler : handlers) to.push_back(&handler.body);
}

void add_bodies(const std::vector<MatchCase>& cases, std::vector<const Statements*>& to) {
  for (const MatchCase& one : cases) to.push_back(&one.body);
}

// The lists of statements that are parts of a statement.
void add_bodies(const Statement& statement, std::vector<const Statements*>& to) {
  const auto add = [&](const auto*... lists) { (to.push_back(lists), ...); };
  switch (statement.kind) {
    case StatementKind::FunctionDef: return add(&static_cast<const FunctionDef&>(statement).body);
    case StatementKind::AsyncFunctionDef: return add(&static_cast<const AsyncFunctionDef&>(statement).body);
    case StatementKind::ClassDef: return add(&static_cast<const ClassDef&>(statement).body);
    case StatementKind::For:
      return add(&static_cast<const For&>(statement).body, &static_cast<const For&>(statement).orelse);
    case StatementKind::AsyncFor:
      return add(&static_cast<const AsyncFor&>(statement).body,
                 &static_cast<const AsyncFor&>(statement).orelse);
    case StatementKind::While:
      return add(&static_cast<const While&>(statement).body, &static_cast<const While&>(statement).orelse);
    case StatementKind::If:
      return add(&static_cast<const If&>(statement).body, &static_cast<const If&>(statement).orelse);
    case StatementKind::With: return add(&static_cast<const With&>(statement).body);
    case StatementKind::AsyncWith: return add(&static_cast<const AsyncWith&>(statement).body);
    case StatementKind::Match: return add_bodies(static_cast<const Match&>(statement).cases, to);
    case StatementKind::Try: {
      const auto& node = static_cast<const Try&>(statement);
      add_bodies(node.handlers, to);
      return add(&node.body, &node.orelse, &node.finalbody);
    }
    case StatementKind::TryStar: {
      const auto& node = static_cast<const TryStar&>(statement);
      add_bodies(node.handlers, to);
      return add(&node.body, &node.orelse, &node.finalbody);
    }
    default: return;
  }
}

// The name of a wrapper: one that nothing in the code has.
std::string unused_name(const CodeView& view, std::string name) {
  const auto taken = [&](const std::string& one) {
    return one == view.name || std::ranges::find(view.names, one) != view.names.end() ||
           std::ranges::find(view.local_names, one) != view.local_names.end();
  };
  while (taken(name)) name += '_';
  return name;
}

Expression* dotted(const std::string& name, SyntaxTree& tree) {
  Expression* node = nullptr;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    node = node ? static_cast<Expression*>(tree.make<Attribute>(node, part)) : tree.make<Name>(part);
    begin = end + 1;
  }
  return node;
}

std::vector<Arg*> all_parameters(Arguments& args) {
  std::vector<Arg*> all;
  for (auto* list : {&args.posonlyargs, &args.args, &args.kwonlyargs}) {
    for (Arg& arg : *list) all.push_back(&arg);
  }
  all.push_back(&args.vararg);
  all.push_back(&args.kwarg);
  return all;
}

void add_defaults(const FunctionFacts& facts, Arguments& args, SyntaxTree& tree) {
  const size_t positional = args.posonlyargs.size() + args.args.size();
  const size_t first = facts.defaults.size() > positional ? facts.defaults.size() - positional : 0;
  args.defaults.clear();
  for (size_t i = first; i < facts.defaults.size(); ++i) {
    args.defaults.push_back(tree.make<syntax::Constant>(facts.defaults[i]));
  }
  args.kw_defaults.assign(args.kwonlyargs.size(), nullptr);
  for (const auto& [name, value] : facts.keyword_defaults) {
    const auto at = std::ranges::find(args.kwonlyargs, name, &Arg::arg);
    if (at == args.kwonlyargs.end()) continue;
    args.kw_defaults[static_cast<size_t>(at - args.kwonlyargs.begin())] = tree.make<syntax::Constant>(value);
  }
}

Expression* add_annotations(const FunctionFacts& facts, Arguments& args, SyntaxTree& tree) {
  Expression* returns = nullptr;
  const auto all = all_parameters(args);
  for (const auto& annotation : facts.annotations) {
    Expression* node = annotation.name.empty() ? tree.make<syntax::Constant>(annotation.value)
                                               : dotted(annotation.name, tree);
    if (annotation.parameter == "return") {
      returns = node;
      continue;
    }
    const auto at = std::ranges::find(all, annotation.parameter, &Arg::arg);
    if (at != all.end()) (*at)->annotation = node;
  }
  return returns;
}

// The body of a class that has type parameters takes them from the function that makes it.
void make_generic(Standalone& alone, const CodeTree& code, SyntaxTree& tree) {
  const auto* definition = alone.body.size() == 1 ? as<ClassDef>(alone.body[0]) : nullptr;
  if (!definition || !definition->type_params.empty()) return;
  auto* generic = tree.make<ClassDef>(definition->name);
  *generic = *definition;
  generic->type_params = {{.kind = TypeParamKind::TypeVar, .name = unused_name(code.view, "_T")}};
  alone.body = {generic};
  alone.path.insert(alone.path.begin(), "<generic parameters of " + code.view.name + ">");
}

}  // namespace

bool is_module_code(const CodeTree& code) {
  return (code.view.flags & kCodeOptimized) == 0 && code.view.name == "<module>";
}

bool is_definition_code(const CodeTree& code) {
  return is_module_code(code) || !code.view.name.starts_with('<');
}

Statement* make_definition(const CodeTree& code, Statements body, SyntaxTree& tree) {
  const CodeView& view = code.view;
  if ((view.flags & kCodeOptimized) == 0) {
    auto* node = tree.make<ClassDef>(view.name);
    node->body = std::move(body);
    return node;
  }
  const bool coroutine = (view.flags & kAsynchronous) != 0;
  if (coroutine) return tree.make<AsyncFunctionDef>(view.name, parameters(view), std::move(body));
  return tree.make<FunctionDef>(view.name, parameters(view), std::move(body));
}

void add_function_facts(const FunctionFacts& facts, const Statements& definition, SyntaxTree& tree) {
  if (!facts.known || definition.size() != 1) return;
  const auto add = [&](auto* node) {
    add_defaults(facts, node->args, tree);
    if (Expression* returns = add_annotations(facts, node->args, tree)) node->returns = returns;
  };
  if (auto* function = as<FunctionDef>(definition[0])) add(function);
  if (auto* function = as<AsyncFunctionDef>(definition[0])) add(function);
  auto* expr = as<syntax::Expr>(definition[0]);
  if (auto* lambda = expr ? as<Lambda>(expr->value) : nullptr) add_defaults(facts, lambda->args, tree);
}

Standalone make_standalone(const CodeTree& code, const Statements& definition, SyntaxTree& tree) {
  if (is_module_code(code)) return {definition, {}};
  Standalone out{definition, {code.view.name}};
  auto variables = free_variables(code.view);
  if (std::erase(variables, ".type_params") > 0) make_generic(out, code, tree);
  const auto is_class_cell = [](const std::string& name) {
    return name == "__class__" || name == "__classdict__";
  };
  if (std::ranges::any_of(variables, is_class_cell)) {
    auto* wrapper = tree.make<ClassDef>(unused_name(code.view, "_Class"));
    wrapper->body = out.body;
    out.body = {wrapper};
    out.path.insert(out.path.begin(), wrapper->name);
    std::erase_if(variables, is_class_cell);
  }
  // Comprehensions that await live in a coroutine only.
  const bool awaits = (code.view.flags & kAsynchronous) != 0 && !is_definition_code(code);
  if (variables.empty() && !awaits) return out;
  Arguments args;
  for (const std::string& variable : variables) args.args.push_back({variable});
  const std::string name = unused_name(code.view, "_outer");
  if (awaits) {
    out.body = {tree.make<AsyncFunctionDef>(name, args, out.body)};
  } else {
    out.body = {tree.make<FunctionDef>(name, args, out.body)};
  }
  out.path.insert(out.path.begin(), name);
  return out;
}

bool needs_outer(const CodeTree& code, const Statements& definition) {
  const auto variables = free_variables(code.view);
  const auto is_variable = [&](const std::string& name) {
    return std::ranges::find(variables, name) != variables.end();
  };
  std::vector<const Statements*> left{&definition};
  while (!left.empty()) {
    const Statements& body = *left.back();
    left.pop_back();
    for (const Statement* statement : body) {
      const auto* node = as<Nonlocal>(statement);
      if (node && std::ranges::any_of(node->names, is_variable)) return true;
      add_bodies(*statement, left);
    }
  }
  return false;
}

CodeTreePtr find_code(CodeTreePtr module, const std::vector<std::string>& path) {
  for (const std::string& name : path) {
    const auto& constants = module->constants;
    const auto found = std::ranges::find_if(constants, [&](const suture::Constant& constant) {
      return constant.is(suture::Constant::Kind::kCode) && constant.code->view.name == name;
    });
    if (found == constants.end()) return nullptr;
    CodeTreePtr next = found->code;
    module = std::move(next);
  }
  return module;
}

}  // namespace suture::toolbox
