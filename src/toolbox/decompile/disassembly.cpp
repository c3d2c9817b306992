#include "toolbox/decompile/disassembly.h"

#include <algorithm>

#include <fmt/format.h>

#include "bytecode/analysis.h"
#include "bytecode/instruction.h"
#include "toolbox/decompile/standalone.h"
#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox {
namespace {

std::string names(const char* title, const std::vector<std::string>& list) {
  if (list.empty()) return "";
  std::string out = fmt::format("{}:", title);
  for (const std::string& name : list) {
    if (out.size() > 2000) return out + " ...\n";
    out += " " + name;
  }
  return out + "\n";
}

// "jump", and every place that control or an exception comes from.
std::vector<bool> marked_targets(const Function& function) {
  std::vector<bool> marked(function.instructions.size());
  const auto mark = [&](int target) {
    if (target >= 0 && target < static_cast<int>(marked.size())) marked[static_cast<size_t>(target)] = true;
  };
  for (const Instruction& instruction : function.instructions) mark(instruction.target);
  for (const ExceptionRegion& region : function.exception_regions) mark(region.target);
  return marked;
}

std::string regions_text(const Function& function) {
  std::string out;
  const auto offset = [&](int index) {
    const bool inside = index >= 0 && index < static_cast<int>(function.instructions.size());
    return inside ? std::to_string(function.instructions[static_cast<size_t>(index)].offset)
                  : std::string("end");
  };
  for (const ExceptionRegion& region : function.exception_regions) {
    out += fmt::format("exceptions in {} to {} go to {}, {} values kept{}\n", offset(region.begin),
                       offset(region.end), offset(region.target), region.depth,
                       region.push_last_instruction ? " and the place" : "");
  }
  return out;
}

std::string hexadecimal(const std::vector<uint8_t>& bytes) {
  constexpr size_t kShown = 512;
  std::string out = "bytes:";
  for (size_t i = 0; i < std::min(bytes.size(), kShown); ++i) {
    out += fmt::format("{}{:02x}", i % 16 == 0 ? "\n  " : " ", bytes[i]);
  }
  if (bytes.size() > kShown) out += fmt::format("\n  ... {} more", bytes.size() - kShown);
  return out + "\n";
}

std::string instructions_text(const Function& function) {
  std::string out;
  const auto depths = stack_depths(function);
  const auto marked = marked_targets(function);
  const size_t count = function.instructions.size();
  int line = 0;
  for (size_t i = 0; i < std::min<size_t>(count, kListedInstructions); ++i) {
    const Instruction& instruction = function.instructions[i];
    if (instruction.line > 0 && instruction.line != line)
      out += fmt::format("line {}\n", line = instruction.line);
    const int depth = depths.ok() ? (*depths)[i] : -1;
    out += fmt::format("{} {:>5} [{}] {}\n", marked[i] ? ">>" : "  ", instruction.offset,
                       depth < 0 ? "?" : std::to_string(depth), to_text(function, static_cast<int>(i)));
  }
  if (count > kListedInstructions)
    out += fmt::format("... {} more instructions\n", count - kListedInstructions);
  if (!depths.ok()) out += fmt::format("stack depths are unknown: {}\n", depths.error().message);
  return out;
}

}  // namespace

std::string annotated_disassembly(const CodeTree& code) {
  const CodeView& view = code.view;
  std::string out =
      fmt::format("{} ({}:{}), Python {}.{}, flags {:#x}, {} stack slots\n",
                  view.qualname.empty() ? view.name : view.qualname, view.filename, view.first_line,
                  view.version.major, view.version.minor, view.flags, view.stack_size);
  out += names("locals, cells and free variables", view.local_names);
  if (auto function = decode_function(view)) {
    out += "byte offset, [values on the stack], instruction:\n" + instructions_text(*function) +
           regions_text(*function);
  } else {
    out += fmt::format("cannot be decoded: {}\n", function.error().message) + hexadecimal(view.code);
  }
  out.pop_back();
  return out;
}

syntax::Statements disassembled_body(const CodeTree& code, const std::string& reason,
                                     syntax::Statements nested, syntax::SyntaxTree& tree) {
  using namespace syntax;  // NOLINT: only nodes are made here
  Statements body = {tree.make<Comment>("Not decompiled: " + reason),
                     tree.make<Comment>(annotated_disassembly(code))};
  body.insert(body.end(), nested.begin(), nested.end());
  const bool is_function = (code.view.flags & kCodeOptimized) != 0;
  const char* kind = is_function ? "function" : is_module_code(code) ? "module" : "class";
  auto* message = tree.make<syntax::Constant>(
      suture::Constant::str(fmt::format("this {} could not be decompiled", kind)));
  auto* error = tree.make<Call>(tree.make<Name>("NotImplementedError"), Expressions{message});
  body.push_back(tree.make<Raise>(error));
  if (!is_function) return body;
  // What is nested finds its variables here, as in the original.
  const CodeView& view = code.view;
  for (size_t i = static_cast<size_t>(view.parameter_count()); i < view.local_names.size(); ++i) {
    const bool cell = i < view.local_kinds.size() && (view.local_kinds[i] & kLocalCell) != 0;
    if (!cell || !is_identifier(view.local_names[i])) continue;
    body.push_back(tree.make<Assign>(Expressions{tree.make<Name>(view.local_names[i])},
                                     tree.make<syntax::Constant>(suture::Constant::none())));
  }
  return body;
}

}  // namespace suture::toolbox
