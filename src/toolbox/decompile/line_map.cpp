#include "toolbox/decompile/line_map.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "bytecode/instruction.h"
#include "bytecode/line_table.h"
#include "toolbox/verify/graph_walk.h"
#include "toolbox/verify/instruction_graph.h"

namespace suture::toolbox {
namespace {

constexpr int kSteps = 4'000'000;
constexpr int kDeepest = 100;

Position position_of(const Instruction& instruction) {
  return {instruction.line, instruction.end_line, instruction.column, instruction.end_column};
}

// Of each instruction of the first graph's function: the position of its partner.
std::vector<std::optional<Position>> paired_positions(const InstructionGraph& first,
                                                      const InstructionGraph& second,
                                                      const std::vector<int>& partners) {
  std::vector<std::optional<Position>> positions(first.checked.function.instructions.size());
  for (size_t i = 0; i < first.nodes.size(); ++i) {
    if (partners[i] < 0) continue;
    const Node& other = second.node(partners[i]);
    const Instruction& instruction =
        second.checked.function.instructions[static_cast<size_t>(other.instruction)];
    auto& position = positions[static_cast<size_t>(first.nodes[i].instruction)];
    if (!position && instruction.line > 0) position = position_of(instruction);
  }
  return positions;
}

// Code units of each instruction, its prefixes and caches included.
std::vector<int> units_of(const Function& function) {
  std::vector<int> units;
  int begin = 0;
  for (const Instruction& instruction : function.instructions) {
    const OpcodeInfo* info = opcode_info(function.code.version, instruction.opcode);
    const int end = instruction.offset / 2 + 1 + (info ? info->caches : 0);
    units.push_back(end - begin);
    begin = end;
  }
  return units;
}

std::vector<uint8_t> write_table(const Function& function, std::vector<std::optional<Position>> positions,
                                 int first_line) {
  Position last{first_line, first_line, -1, -1};
  const std::vector<int> units = units_of(function);
  LineTableWriter writer(first_line);
  for (size_t i = 0; i < function.instructions.size(); ++i) {
    if (positions[i]) last = *positions[i];
    writer.add(last, units[i]);
  }
  return writer.take();
}

struct Printed {
  const CodeTree* code = nullptr;
  std::vector<int> origin;  // per instruction: the one of the executing code
};

Result<LineMap> map_code(const CodeTree& executing, const Printed& readable, const CodeTree& printed,
                         int depth);

Result<LineMap> map_as_printed(const CodeTree& executing, const CodeTree& printed, int depth) {
  return map_code(executing, {&executing, {}}, printed, depth);
}

Result<LineMap> map_code(const CodeTree& executing, const Printed& readable, const CodeTree& printed,
                         int depth) {
  if (depth > kDeepest) return Error::unsupported("line map", "code objects are nested too deeply");
  SUTURE_TRY(first, build_instruction_graph(*readable.code));
  SUTURE_TRY(second, build_instruction_graph(printed));
  const GraphComparison compared = compare_graphs(first, second, kSteps);
  std::vector<std::optional<Position>> positions = paired_positions(first, second, compared.partners);
  SUTURE_TRY(function, decode_function(executing.view));
  if (!readable.origin.empty()) {
    std::vector<std::optional<Position>> moved(function.instructions.size());
    for (size_t i = 0; i < positions.size(); ++i)
      if (auto& to = moved[static_cast<size_t>(readable.origin[i])]; !to) to = positions[i];
    positions = std::move(moved);
  }
  LineMap map{printed.view.first_line, {}, {}, compared.difference};
  map.table = write_table(function, std::move(positions), map.first_line);
  for (size_t i = 0; i < executing.constants.size(); ++i) {
    if (!executing.constants[i].is(Constant::Kind::kCode)) continue;
    const auto pair = std::ranges::find(compared.nested, executing.constants[i].code, &CodePair::first);
    if (pair == compared.nested.end()) continue;
    SUTURE_TRY(nested, map_as_printed(*pair->first, *pair->second, depth + 1));
    if (map.difference.empty()) map.difference = nested.difference;
    map.nested.push_back({static_cast<int>(i), std::move(nested)});
  }
  return map;
}

}  // namespace

Result<LineMap> map_lines(const CodeTree& executing, const CodeTree& printed,
                          std::optional<OutputKind> kind) {
  if (!kind) return map_as_printed(executing, printed, 0);
  SUTURE_TRY(readable, readable_output(executing, *kind, printed.view.name));
  return map_code(executing, {&readable.code, readable.origin}, printed, 0);
}

}  // namespace suture::toolbox
