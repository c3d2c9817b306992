#include "toolbox/verify/node_effect.h"

#include <numeric>

namespace suture::toolbox {
namespace {

using Positions = std::vector<int>;
constexpr int kNew = NodeEffect::kNew;

Positions from_top(int count) {
  Positions positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 1);
  return positions;
}

// Takes its operands, all of which count, and pushes new values.
NodeEffect plain(StackUse use) {
  return {.pops = use.pops,
          .compared = from_top(use.pops),
          .results = Positions(static_cast<size_t>(use.pushes), kNew),
          .results_on_jump = Positions(static_cast<size_t>(use.pushes_on_jump), kNew)};
}

// Looks at the top `count` values and pushes one on them.
NodeEffect looks_at(int count) { return {.compared = from_top(count), .results = {kNew}}; }

// Adds the top `count` values to a container `depth` below them.
NodeEffect adds_to_container(int count, int depth) {
  NodeEffect effect{.pops = count, .compared = from_top(count), .number_counts = false};
  effect.compared.push_back(count + depth);
  return effect;
}

// Forms that the version's own table does not have.
StackUse canonical_use(PythonVersion version, const Node& node) {
  switch (node.opcode) {
    case Opcode::LOAD_METHOD: return {1, 2, 2};
    case Opcode::LOAD_GLOBAL: return {0, 1, 1};
    case Opcode::LOAD_ATTR: return {1, 1, 1};
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_NONE: return {1, 0, 0};
    case Opcode::TO_BOOL: return {1, 1, 1};
    default: return stack_use(version, node.opcode, node.number);
  }
}

}  // namespace

NodeEffect node_effect(PythonVersion version, const Node& node) {
  const bool iterator_stays = version >= PythonVersion{3, 12};  // until END_FOR or END_SEND
  switch (node.opcode) {
    case Opcode::LIST_APPEND:
    case Opcode::LIST_EXTEND:
    case Opcode::SET_ADD:
    case Opcode::SET_UPDATE:
    case Opcode::DICT_UPDATE: return adds_to_container(1, node.number);
    case Opcode::MAP_ADD: return adds_to_container(2, node.number);
    case Opcode::DICT_MERGE: {
      NodeEffect effect = adds_to_container(1, node.number);
      effect.compared.push_back(canonical_use(version, node).pops);  // the function, for messages
      return effect;
    }
    case Opcode::PRECALL: return {};
    case Opcode::WITH_EXCEPT_START: return {.compared = {1, 4}, .results = {kNew}};
    case Opcode::CHECK_EXC_MATCH: return {.pops = 1, .compared = {1, 2}, .results = {kNew}};
    case Opcode::GET_LEN:
    case Opcode::GET_ANEXT:
    case Opcode::IMPORT_FROM:
    case Opcode::MATCH_MAPPING:
    case Opcode::MATCH_SEQUENCE: return looks_at(1);
    case Opcode::MATCH_KEYS: return looks_at(2);
    case Opcode::PUSH_EXC_INFO: return {.pops = 1, .compared = {1}, .results = {kNew, 1}};
    case Opcode::FOR_ITER:
      return {.pops = 1,
              .compared = {1},
              .results = {1, kNew},
              .results_on_jump = iterator_stays ? Positions{1, kNew} : Positions{}};
    case Opcode::SEND:
      return {.pops = 2,
              .compared = {1, 2},
              .results = {2, kNew},
              .results_on_jump = iterator_stays ? Positions{2, kNew} : Positions{kNew}};
    case Opcode::RERAISE:  // its number says whether the place of the exception is restored
      return {.pops = 1, .compared = {1}, .number_counts = false};
    default: return plain(canonical_use(version, node));
  }
}

}  // namespace suture::toolbox
