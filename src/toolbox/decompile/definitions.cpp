// Functions, classes, lambdas and comprehensions from their code objects; and the entry, structure().
#include <fmt/format.h>

#include <algorithm>

#include "toolbox/decompile/annotations.h"
#include "toolbox/decompile/blocks.h"
#include "toolbox/decompile/comprehensions.h"
#include "toolbox/decompile/evaluate.h"
#include "toolbox/decompile/match_patterns.h"
#include "toolbox/decompile/regions.h"
#include "toolbox/decompile/scope.h"
#include "toolbox/decompile/structure_statements.h"
#include "toolbox/decompile/unreached_code.h"

namespace suture::toolbox {

using namespace syntax;

namespace {

Scope nested_scope(const Scope& around, const CodeTree& code) {
  Scope scope{
      .code = &code, .kind = kind_of_code(code, &around), .parent = &around, .depth = around.depth + 1};
  scope.class_name = scope.kind == CodeKind::kClass ? code.view.name : around.class_name;
  return scope;
}

Status check_depth(const Scope& scope) {
  if (scope.depth <= kMaxNestedCode) return ok_status();
  return Error::unsupported("decompile", fmt::format("more than {} nested code objects", kMaxNestedCode));
}

// A code object's flow graph.
struct Flow {
  LiftedCode lifted;
  Regions regions;
  Evaluated code;
  UsedVariables variables;
};

Result<Flow> evaluate_code(Builder& builder, const Scope& scope) {
  SUTURE_TRY_VOID(check_depth(scope));
  Flow flow;
  SUTURE_TRY(lifted, lift(*scope.code));
  flow.lifted = std::move(lifted);
  flow.variables = used_variables(flow.lifted);
  mark_except_star(flow.lifted);
  merge_exit_copies(flow.lifted);
  SUTURE_TRY(regions, find_regions(flow.lifted));
  flow.regions = std::move(regions);
  SUTURE_TRY_VOID(fold_finally_bodies(flow.lifted, flow.regions));
  const std::vector<MatchedCase> cases = find_match_cases(builder, scope, flow.lifted, flow.regions);
  SUTURE_TRY(blocks, find_blocks(flow.lifted, flow.regions));
  SUTURE_TRY(code, Evaluator(builder, scope, flow.lifted, flow.regions, blocks, cases).run());
  flow.code = std::move(code);
  for (size_t i = 0; i < flow.variables.bound.size(); ++i) {
    flow.variables.bound[i] = flow.variables.bound[i] || flow.code.bound[i];
    flow.variables.loaded[i] = flow.variables.loaded[i] || flow.code.loaded[i];
  }
  return flow;
}

bool is_return_of_none(const Statement* statement) {
  const Return* it = as<Return>(statement);
  const auto* constant = it ? as<syntax::Constant>(it->value) : nullptr;
  return it && (!it->value || (constant && constant->value.is(suture::Constant::Kind::kNone)));
}

// A declared name of an enclosing function would be taken for the function's, were it not declared global.
bool hides(const Scope* scope, const std::string& name) {
  for (; scope; scope = scope->parent) {
    if (scope->kind == CodeKind::kClass || scope->kind == CodeKind::kModule) continue;
    const auto& names = scope->view().local_names;
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  }
  return false;
}

void declare(Builder& builder, const Scope& scope, const Evaluated& code, Statements& body) {
  if (scope.kind == CodeKind::kLambda) return;  // no place for it, and no need
  std::set<std::string> globals = code.globals;
  if (scope.kind == CodeKind::kFunction)
    for (const std::string& name : code.loaded_globals)
      if (hides(scope.parent, name)) globals.insert(name);
  Statements declarations;
  const auto list = [](const std::set<std::string>& names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  if (!globals.empty()) declarations.push_back(builder.tree.make<Global>(list(globals)));
  if (!code.nonlocals.empty()) declarations.push_back(builder.tree.make<Nonlocal>(list(code.nonlocals)));
  const auto first = std::find_if(body.begin(), body.end(), [](const Statement* statement) {
    const ImportFrom* it = as<ImportFrom>(statement);
    return !it || it->module != "__future__";  // these must come first
  });
  body.insert(first, declarations.begin(), declarations.end());
}

Expression* text_constant(Builder& builder, const std::string& text) {
  return builder.tree.make<syntax::Constant>(suture::Constant::str(text));
}

bool is_text(const Expression* expr) {
  const auto* constant = as<syntax::Constant>(expr);
  return constant && constant->value.is(suture::Constant::Kind::kStr);
}

// What the compiler puts at the end of a class body, on every way there: since 3.13 the names of attributes, then cells, then a
// return. A body may assign the same names itself, so only the last assignment goes.
void strip_class_end(Builder& builder, int minor, Statements& body) {
  while (!body.empty() && as<Return>(body.back())) body.pop_back();
  if (body.empty()) return;
  bool found = false;
  for (const char* own : {"__classcell__", "__classdictcell__", "__static_attributes__"}) {
    const Name* last = minor >= 13 && !body.empty() ? assigned_name(body.back()) : nullptr;
    if (!last || last->id != own) continue;
    body.pop_back();
    found = true;
  }
  if (found || body.empty()) return;
  if (Match* match = as<Match>(body.back())) {
    for (MatchCase& it : match->cases) {
      strip_class_end(builder, minor, it.body);
      if (it.body.empty()) it.body.push_back(builder.tree.make<Pass>());
    }
  }
  If* branch = as<If>(body.back());
  if (!branch) return;
  strip_class_end(builder, minor, branch->body);
  strip_class_end(builder, minor, branch->orelse);
  if (branch->body.empty()) branch->body.push_back(builder.tree.make<Pass>());
}

// What the compiler puts around the statements of a class body.
void strip_class_body(Builder& builder, int minor, Statements& body) {
  size_t first = 0;
  // In this order, each once: the body may assign them again.
  for (const char* own : {"__module__", "__qualname__", "__firstlineno__", "__type_params__"})
    if (const Name* name = first < body.size() ? assigned_name(body[first]) : nullptr;
        name && name->id == own)
      ++first;
  body.erase(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(first));
  strip_class_end(builder, minor, body);
}

// `__doc__ = 'text'` in front: the docstring of a module or class.
void restore_docstring(Builder& builder, Statements& body) {
  if (body.empty()) return;
  const Name* name = assigned_name(body.front());
  if (!name || name->id != "__doc__") return;
  auto* value = as<Assign>(body.front())->value;
  const auto* constant = as<syntax::Constant>(value);
  if (constant && constant->value.is(suture::Constant::Kind::kStr))
    body.front() = builder.tree.make<Expr>(value);
}

void strip_last_return(Statements& body) {
  if (!body.empty() && is_return_of_none(body.back())) body.pop_back();
}

Result<Statements> body_statements(Builder& builder, const Scope& scope) {
  SUTURE_TRY(flow, evaluate_code(builder, scope));
  simplify_flow(builder, flow.code);
  SUTURE_TRY(body, structure_statements(builder, flow.code, flow.lifted, flow.regions));
  if (scope.kind == CodeKind::kClass)
    strip_class_body(builder, scope.view().version.minor, body);
  else if (scope.kind != CodeKind::kLambda)
    strip_last_return(body);
  add_unreached_code(builder, scope,
                     {flow.lifted, flow.variables, flow.code.has_annotations && !flow.code.annotates}, body);
  if (scope.kind == CodeKind::kClass || scope.kind == CodeKind::kModule) restore_docstring(builder, body);
  const bool has_docstring = !body.empty() && scope.kind != CodeKind::kFunction && as<Expr>(body.front()) &&
                             as<syntax::Constant>(as<Expr>(body.front())->value);
  Statements front;
  if (has_docstring) {
    front.push_back(body.front());
    body.erase(body.begin());
  }
  declare(builder, scope, flow.code, body);
  body.insert(body.begin(), front.begin(), front.end());
  return body;
}

// The body, or what stands for it: another tier's, or `...` when the caller collects failures.
Result<Statements> body_or_replacement(Builder& builder, const Scope& scope) {
  if (builder.options.replacement)
    if (auto body = builder.options.replacement(*scope.code, builder.tree)) return std::move(*body);
  Result<Statements> body = body_statements(builder, scope);
  if (body.ok() || !builder.options.failed) {
    if (!body.ok())
      return Error::unsupported(body.error().step,
                                fmt::format("{}: {}", scope.view().qualname, body.error().message));
    return body;
  }
  builder.options.failed->push_back({scope.code, body.error().message});
  return Statements{
      builder.tree.make<Expr>(builder.tree.make<syntax::Constant>(suture::Constant::ellipsis()))};
}

Expression* annotation_of(Builder& builder, const FunctionParts& parts, const std::string& name) {
  for (const Keyword& annotation : parts.annotations) {
    if (annotation.arg != name) continue;
    return annotation_expression(parts.code->view.flags, annotation.value, builder.tree);
  }
  return nullptr;
}

Arguments arguments_of(Builder& builder, const Scope& scope, const FunctionParts& parts) {
  const CodeView& view = parts.code->view;
  Arguments result;
  size_t next = 0;
  const auto arg = [&] {
    Arg made;
    if (next < view.local_names.size()) made.arg = view.local_names[next++];
    made.annotation = annotation_of(builder, parts, made.arg);
    made.arg = unmangled(scope, made.arg);
    return made;
  };
  for (int i = 0; i < view.arg_count; ++i)
    (i < view.posonly_count ? result.posonlyargs : result.args).push_back(arg());
  for (int i = 0; i < view.kwonly_count; ++i) {
    result.kwonlyargs.push_back(arg());
    Expression* value = nullptr;
    for (const Keyword& known : parts.keyword_defaults)
      if (unmangled(scope, known.arg) == result.kwonlyargs.back().arg) value = known.value;
    result.kw_defaults.push_back(value);
  }
  if (view.flags & kCodeVarArgs) result.vararg = arg();
  if (view.flags & kCodeVarKeywords) result.kwarg = arg();
  result.defaults = parts.defaults;
  return result;
}

// A lambda's statements are one return, perhaps on several ways.
Expression* returned_expression(Builder& builder, const Statements& body) {
  if (body.empty()) return nullptr;
  if (const Return* it = as<Return>(body.front())) return it->value;
  const If* branch = as<If>(body.front());
  if (!branch) return nullptr;
  Expression* yes = returned_expression(builder, branch->body);
  Expression* no = returned_expression(
      builder, branch->orelse.empty() ? Statements(body.begin() + 1, body.end()) : branch->orelse);
  return yes && no ? builder.tree.make<IfExp>(branch->test, yes, no) : nullptr;
}

}  // namespace

CodeKind kind_of_code(const CodeTree& code, const Scope* parent) {
  const std::string& name = code.view.name;
  if (name.starts_with("<generic parameters of ")) return CodeKind::kTypeParameters;
  if ((code.view.flags & kCodeOptimized) == 0)
    return !parent && name == "<module>" ? CodeKind::kModule : CodeKind::kClass;
  if (name == "<lambda>") return CodeKind::kLambda;
  const bool comprehension =
      name == "<listcomp>" || name == "<setcomp>" || name == "<dictcomp>" || name == "<genexpr>";
  return comprehension ? CodeKind::kComprehension : CodeKind::kFunction;
}

// A name with two underscores in a class C is _C__name in its bytecode.
std::string unmangled(const std::string& class_name, const std::string& name) {
  const size_t first = class_name.find_first_not_of('_');
  if (first == std::string::npos || !name.starts_with('_') || name.ends_with("__")) return name;
  const std::string prefix = "_" + class_name.substr(first);
  const std::string_view rest = std::string_view(name).substr(std::min(prefix.size(), name.size()));
  const bool mangled =
      name.starts_with(prefix) && rest.starts_with("__") && rest.find('.') == std::string_view::npos;
  return mangled ? std::string(rest) : name;
}

Result<Generic> make_generic(Builder& builder, const Scope& around, const CodeTree& code,
                             const std::vector<Expression*>& arguments) {
  Scope scope = nested_scope(around, code);
  const auto& names = code.view.local_names;
  for (size_t i = 0; i < arguments.size() && i < names.size(); ++i) scope.arguments[names[i]] = arguments[i];
  SUTURE_TRY(flow, evaluate_code(builder, scope));
  const Value* made = flow.code.returned;
  if (!made || (!made->function && !made->class_parts && !made->alias))
    return Error::unsupported("decompile", fmt::format("{}: no definition is made", code.view.qualname));
  return Generic{made->function, made->class_parts, made->alias};
}

Result<Statement*> make_function(Builder& builder, const Scope& around, const FunctionParts& parts,
                                 Expressions decorators) {
  const Scope scope = nested_scope(around, *parts.code);
  [[maybe_unused]] const CodeView& view = parts.code->view;
  const std::string name = unmangled(around, view.name);
  SUTURE_TRY(body, body_or_replacement(builder, scope));
  if (const std::string* docstring = parts.code->docstring())
    body.insert(body.begin(), builder.tree.make<Expr>(text_constant(builder, *docstring)));
  else if (const Expr* first = body.empty() ? nullptr : as<Expr>(body.front());
           first && is_text(first->value))  // an f-string is no docstring
    body.front() = builder.tree.make<Expr>(builder.tree.make<JoinedStr>(Expressions{first->value}));
  if (body.empty()) body.push_back(builder.tree.make<Pass>());
  Arguments arguments = arguments_of(builder, scope, parts);
  Expression* returns = annotation_of(builder, parts, "return");
  if (view.flags & (kCodeCoroutine | kCodeAsyncGenerator))
    return static_cast<Statement*>(builder.tree.make<AsyncFunctionDef>(
        name, std::move(arguments), std::move(body), std::move(decorators), returns, parts.type_params));
  return static_cast<Statement*>(builder.tree.make<FunctionDef>(
      name, std::move(arguments), std::move(body), std::move(decorators), returns, parts.type_params));
}

Result<Statement*> make_class(Builder& builder, const Scope& around, const ClassParts& parts,
                              Expressions decorators) {
  const Scope scope = nested_scope(around, *parts.code);
  SUTURE_TRY(body, body_or_replacement(builder, scope));
  if (body.empty()) body.push_back(builder.tree.make<Pass>());
  return static_cast<Statement*>(builder.tree.make<ClassDef>(
      parts.name, parts.bases, parts.keywords, std::move(body), std::move(decorators), parts.type_params));
}

Result<Expression*> make_lambda(Builder& builder, const Scope& around, const FunctionParts& parts) {
  Scope scope = nested_scope(around, *parts.code);
  scope.kind = CodeKind::kLambda;  // what is evaluated late (a bound of a type parameter) has another name
  SUTURE_TRY(body, body_statements(builder, scope));
  Expression* value = returned_expression(builder, body);
  if (!value)
    return Error::unsupported("decompile",
                              fmt::format("{}: a lambda that is no expression", parts.code->view.qualname));
  return static_cast<Expression*>(builder.tree.make<Lambda>(arguments_of(builder, scope, parts), value));
}

Result<Expression*> make_comprehension(Builder& builder, const Scope& around, const CodeTree& code,
                                       Expression* first_iterable, AssignedOutside& assigned) {
  const Scope scope = nested_scope(around, code);
  SUTURE_TRY(flow, evaluate_code(builder, scope));
  assigned = {flow.code.globals, flow.code.nonlocals};
  FlowGraph& graph = flow.code.graph;
  const auto wrong = [&] {
    return Error::unsupported("decompile",
                              fmt::format("{}: a comprehension that is no loop", code.view.qualname));
  };
  if (code.view.name == "<genexpr>") {
    int header = graph.entry;
    if (graph.at(header).end == End::kGoto && graph.at(header).statements.empty())
      header = graph.at(header).yes.to;
    if (header < 0 || graph.at(header).end != End::kFor) return wrong();
    Filling filling = read_filling_loop(builder.tree, graph, flow.code.values, header, true);
    if (!filling.problem.empty()) return Error::unsupported("decompile", filling.problem);
    if (filling.generators.empty()) return wrong();
    filling.generators.front().iter = first_iterable;
    return static_cast<Expression*>(
        builder.tree.make<GeneratorExp>(filling.element, std::move(filling.generators)));
  }
  const FlowNode& entry = graph.at(graph.entry);
  if (entry.end != End::kReturn || !entry.statements.empty() || !entry.test || !entry.test->expr)
    return wrong();
  Expression* made = entry.test->expr;
  // Code that no compiler made may return a comprehension of its own that has no loop.
  std::vector<Comprehension>* generators = nullptr;
  if (auto* list = as<ListComp>(made)) generators = &list->generators;
  if (auto* set = as<SetComp>(made)) generators = &set->generators;
  if (auto* dict = as<DictComp>(made)) generators = &dict->generators;
  if (!generators || generators->empty()) return wrong();
  generators->front().iter = first_iterable;
  return made;
}

Result<SyntaxTree> structure(const CodeTree& code, const StructureOptions& options) {
  SyntaxTree tree;
  Builder builder{tree, options};
  const Scope outside{.code = &code, .kind = CodeKind::kModule, .parent = nullptr, .depth = -1};
  Scope scope{.code = &code, .kind = kind_of_code(code, nullptr), .parent = nullptr, .depth = 0};
  FunctionParts parts{.code = &code};
  switch (scope.kind) {
    case CodeKind::kModule: {
      SUTURE_TRY(body, body_or_replacement(builder, scope));
      tree.body = std::move(body);
      break;
    }
    case CodeKind::kClass: {
      SUTURE_TRY(definition, make_class(builder, outside, {.code = &code, .name = code.view.name}, {}));
      tree.body = {definition};
      break;
    }
    case CodeKind::kLambda: {
      SUTURE_TRY(lambda, make_lambda(builder, outside, parts));
      tree.body = {tree.make<Expr>(lambda)};
      break;
    }
    case CodeKind::kComprehension: {
      AssignedOutside assigned;
      SUTURE_TRY(comprehension,
                 make_comprehension(builder, outside, code, tree.make<Name>("iterable"), assigned));
      tree.body = {tree.make<Expr>(comprehension)};
      break;
    }
    case CodeKind::kTypeParameters:
      return Error::unsupported("decompile",
                                "the code of type parameters is part of the definition around it");
    default: {
      SUTURE_TRY(definition, make_function(builder, outside, parts, {}));
      tree.body = {definition};
    }
  }
  return tree;
}

Result<SyntaxTree> structure_generic(const CodeTree& code, const Expressions& arguments,
                                     const StructureOptions& options) {
  SyntaxTree tree;
  Builder builder{tree, options};
  const Scope outside{.code = &code, .kind = CodeKind::kModule, .parent = nullptr, .depth = -1};
  const Scope scope = nested_scope(outside, code);
  SUTURE_TRY(generic, make_generic(builder, outside, code, arguments));
  if (generic.alias) {
    const TypeAliasParts& alias = *generic.alias;
    tree.body = {tree.make<syntax::TypeAlias>(tree.make<Name>(alias.name), alias.type_params, alias.value)};
    return tree;
  }
  SUTURE_TRY(definition, generic.function ? make_function(builder, scope, *generic.function, {})
                                          : make_class(builder, scope, *generic.class_parts, {}));
  tree.body = {definition};
  return tree;
}

Result<SyntaxTree> structure_late(const CodeTree& code, const StructureOptions& options) {
  SyntaxTree tree;
  Builder builder{tree, options};
  const Scope outside{.code = &code, .kind = CodeKind::kModule, .parent = nullptr, .depth = -1};
  SUTURE_TRY(lambda, make_lambda(builder, outside, {.code = &code}));
  tree.body = {tree.make<Expr>(as<Lambda>(lambda)->body)};
  return tree;
}

}  // namespace suture::toolbox
