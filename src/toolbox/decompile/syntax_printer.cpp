#include "toolbox/decompile/syntax_printer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/escaped_text.h"
#include "toolbox/decompile/syntax_writer.h"

namespace suture::toolbox {

using namespace syntax;  // NOLINT: the printer speaks of nothing else

void Writer::text(std::string_view literal) {
  if (tasks_.size() == mark_) {
    out_ += literal;
  } else {
    tasks_.push_back({.kind = TaskKind::kText, .text = literal});
  }
}

void Writer::owned(std::string text) {
  if (tasks_.size() == mark_) {
    out_ += text;
  } else {
    tasks_.push_back({.kind = TaskKind::kText, .text = owned_.emplace_back(std::move(text))});
  }
}

void Writer::name(std::string_view identifier) {
  if (!is_identifier(identifier))
    fail(fmt::format("'{}' is no identifier", escaped_line(identifier.substr(0, 100))));
  text(identifier);
}

void Writer::dotted_name(std::string_view names) {
  if (!is_dotted_name(names)) fail(fmt::format("'{}' is no module name", escaped_line(names.substr(0, 100))));
  text(names);
}

void Writer::expression(const Expression* expression, Precedence at_least) {
  if (!expression) return fail("an expression is missing in the tree");
  tasks_.push_back({.kind = TaskKind::kExpression, .at_least = at_least, .node = expression});
}

void Writer::pattern(const Pattern* pattern, Precedence at_least, int indent) {
  if (!pattern) return fail("a pattern is missing in the tree");
  tasks_.push_back({.kind = TaskKind::kPattern, .at_least = at_least, .indent = indent, .node = pattern});
}

void Writer::statements(const Statements& body, int indent, bool documented) {
  tasks_.push_back({.kind = TaskKind::kBlock, .documented = documented, .indent = indent, .node = &body});
}

void Writer::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

// Bytecode can hand one value on again and again, so that the tree has expressions in common and its text is exponentially long.
void Writer::count(const void* expression) {
  constexpr size_t kRepetitions = 16, kAlwaysFine = 20'000;
  seen_.insert(expression);
  if (++printed_ > kRepetitions * seen_.size() + kAlwaysFine) fail("its text repeats values too often");
}

// The same for tuples in constants.
void Writer::count_items(const suture::Constant& value) {
  constexpr size_t kRepetitions = 16, kAlwaysFine = 100'000;
  if (seen_.insert(value.items.get()).second) different_items_ += 1 + value.items->size();
  printed_items_ += 1 + value.items->size();
  if (printed_items_ > kRepetitions * different_items_ + kAlwaysFine)
    fail("its text repeats constants too often");
}

Result<std::string> Writer::run() {
  std::ranges::reverse(tasks_);
  while (!tasks_.empty() && failure_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    mark_ = tasks_.size();
    perform(task);
    std::reverse(tasks_.begin() + static_cast<std::ptrdiff_t>(mark_), tasks_.end());
  }
  if (!failure_.empty()) return Error::unsupported("print", failure_);
  return std::move(out_);
}

void Writer::perform(const Task& task) {
  switch (task.kind) {
    case TaskKind::kText: out_ += task.text; break;
    case TaskKind::kExpression:
      count(task.node);
      print_expression(*static_cast<const Expression*>(task.node), task.at_least);
      break;
    case TaskKind::kPattern:
      print_pattern(*static_cast<const Pattern*>(task.node), task.at_least, task.indent);
      break;
    case TaskKind::kBlock: block(task); break;
    case TaskKind::kElse: else_branch(*static_cast<const Statements*>(task.node), task.indent); break;
  }
}

Result<std::string> print_statements(const Statements& body, PythonVersion version, bool module) {
  if (body.empty() && module) return std::string();
  Writer writer(version);
  writer.statements(body, 0, module);
  return writer.run();
}

Result<std::string> print_source(const SyntaxTree& tree, PythonVersion version) {
  return print_statements(tree.body, version, true);
}

Result<std::string> print_expression(const Expression& expression, PythonVersion version,
                                     Precedence at_least) {
  Writer writer(version);
  writer.expression(&expression, at_least);
  return writer.run();
}

}  // namespace suture::toolbox
