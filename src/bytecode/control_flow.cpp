// Control flow and stack depth over instruction indices.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/analysis.h"

namespace suture {
namespace {

bool falls_through(Opcode opcode) { return !ends_block(opcode); }

struct Edge {
  int target;
  int depth;
};

// Normal edges and the exception edge of an instruction that is entered with `depth` values on the stack.
void edges_with_depth(const Function& function, int index, int depth, std::vector<Edge>& out) {
  out.clear();
  const Instruction& instruction = function.instructions[static_cast<size_t>(index)];
  const StackUse use = stack_use(function, index);
  if (falls_through(instruction.opcode)) out.push_back({index + 1, depth - use.pops + use.pushes});
  if (instruction.target >= 0) out.push_back({instruction.target, depth - use.pops + use.pushes_on_jump});
  if (const ExceptionRegion* region = function.region_at(index))
    out.push_back({region->target, region->depth + (region->push_last_instruction ? 1 : 0) + 1});
}

}  // namespace

bool ends_block(Opcode opcode) {
  switch (opcode) {
    case Opcode::RETURN_VALUE:
    case Opcode::RETURN_CONST:
    case Opcode::INTERPRETER_EXIT:
    case Opcode::RAISE_VARARGS:
    case Opcode::RERAISE:
    case Opcode::JUMP_FORWARD:
    case Opcode::JUMP_BACKWARD:
    case Opcode::JUMP_BACKWARD_NO_INTERRUPT: return true;
    default: return false;
  }
}

std::vector<int> successors(const Function& function, int index) {
  std::vector<int> result;
  const auto add = [&](int target) {
    const bool inside = target >= 0 && target < static_cast<int>(function.instructions.size());
    if (inside && std::find(result.begin(), result.end(), target) == result.end()) result.push_back(target);
  };
  const Instruction& instruction = function.instructions[static_cast<size_t>(index)];
  if (falls_through(instruction.opcode)) add(index + 1);
  add(instruction.target);
  if (const ExceptionRegion* region = function.region_at(index)) add(region->target);
  return result;
}

StackUse stack_use(const Function& function, int index) {
  const Instruction& instruction = function.instructions[static_cast<size_t>(index)];
  return stack_use(function.code.version, instruction.opcode, instruction.arg);
}

int stack_effect(const Function& function, int index, bool jump_taken) {
  const StackUse use = stack_use(function, index);
  return (jump_taken ? use.pushes_on_jump : use.pushes) - use.pops;
}

Result<std::vector<int>> stack_depths(const Function& function) {
  const int count = static_cast<int>(function.instructions.size());
  std::vector<int> depths(static_cast<size_t>(count), -1);
  std::vector<int> work;
  if (count > 0) {
    depths[0] = 0;
    work.push_back(0);
  }
  std::vector<Edge> edges;
  while (!work.empty()) {
    const int index = work.back();
    work.pop_back();
    const int depth = depths[static_cast<size_t>(index)];
    if (depth < stack_use(function, index).pops)
      return Error::internal(
          "bytecode", fmt::format("instruction {} of {} reaches below the stack", index, function.code.name));
    edges_with_depth(function, index, depth, edges);
    for (const Edge& edge : edges) {
      if (edge.target >= count)
        return Error::internal("bytecode", "control runs off the end of " + function.code.name);
      int& known = depths[static_cast<size_t>(edge.target)];
      if (known == edge.depth) continue;
      if (known != -1)
        return Error::internal("bytecode", fmt::format("two stack depths at instruction {} of {}: {} and {}",
                                                       edge.target, function.code.name, known, edge.depth));
      known = edge.depth;
      work.push_back(edge.target);
    }
  }
  return depths;
}

int stack_size(const Function& function, const std::vector<int>& depths) {
  int largest = 1;
  for (int i = 0; i < static_cast<int>(depths.size()); ++i) {
    const int depth = depths[static_cast<size_t>(i)];
    if (depth < 0) continue;
    const StackUse use = stack_use(function, i);
    largest = std::max(largest, depth - use.pops + std::max({use.pops, use.pushes, use.pushes_on_jump}));
    if (const ExceptionRegion* region = function.region_at(i))
      largest = std::max(largest, region->depth + (region->push_last_instruction ? 1 : 0) + 1);
  }
  return largest;
}

namespace {

// What only moves values, or the active exception, and so never takes the edge to its handler.
bool never_raises(Opcode opcode) {
  switch (opcode) {
    case Opcode::NOP:
    case Opcode::COPY:
    case Opcode::SWAP:
    case Opcode::POP_TOP:
    case Opcode::PUSH_NULL:
    case Opcode::LOAD_CONST:
    case Opcode::STORE_FAST:
    case Opcode::JUMP_FORWARD:
    case Opcode::PUSH_EXC_INFO:
    case Opcode::POP_EXCEPT: return true;
    default: return false;
  }
}

}  // namespace

std::vector<int> handler_depths(const Function& function) {
  std::vector<int> depths(function.instructions.size(), -1);
  std::vector<int> work;
  const auto reach = [&](int target, int depth) {
    if (depths[static_cast<size_t>(target)] >= depth) return;  // the deeper answer is the careful one
    depths[static_cast<size_t>(target)] = depth;
    work.push_back(target);
  };
  if (!depths.empty()) reach(0, 0);
  // Structured code has one depth per instruction; the bound only stops malformed code from counting for
  // ever.
  constexpr int kDeepest = 64;
  while (!work.empty()) {
    const int index = work.back();
    work.pop_back();
    int depth = depths[static_cast<size_t>(index)];
    const ExceptionRegion* region = function.region_at(index);
    if (function.instructions[static_cast<size_t>(index)].opcode == Opcode::PUSH_EXC_INFO)
      depth = std::min(depth + 1, kDeepest);
    if (function.instructions[static_cast<size_t>(index)].opcode == Opcode::POP_EXCEPT)
      depth = std::max(0, depth - 1);
    const Instruction& instruction = function.instructions[static_cast<size_t>(index)];
    for (int next : successors(function, index)) {
      const bool follows = next == index + 1 && !ends_block(instruction.opcode);
      // A handler of a handler region still runs inside the outer handler.
      if (region == nullptr || next != region->target || follows || next == instruction.target)
        reach(next, depth);
      else if (!never_raises(instruction.opcode))
        reach(next, depths[static_cast<size_t>(index)]);
    }
  }
  return depths;
}

std::vector<bool> reachable_from(const Function& function, int start) {
  std::vector<bool> seen(function.instructions.size(), false);
  std::vector<int> work{start};
  seen[static_cast<size_t>(start)] = true;
  while (!work.empty()) {
    const int index = work.back();
    work.pop_back();
    for (int next : successors(function, index)) {
      if (seen[static_cast<size_t>(next)]) continue;
      seen[static_cast<size_t>(next)] = true;
      work.push_back(next);
    }
  }
  return seen;
}

}  // namespace suture
