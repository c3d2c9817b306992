// How it works: one walk that remembers the constants that were loaded last, each with the places that load it.
#include "bytecode/readable_displays.h"

#include "bytecode/compiler_limits.h"
#include "bytecode/instruction_editor.h"

namespace suture {
namespace {

class Folder {
 public:
  Folder(const Function& function, std::vector<Constant>& constants)
      : edit_(function), constants_(constants), reprs_(function.code.constant_reprs) {}

  Function fold(std::vector<int>& origin) {
    for (int i = 0; i < edit_.count(); ++i) {
      if (edit_.is_target(i)) loaded_.clear();
      step(i);
    }
    Function out = edit_.result(origin);
    out.code.constant_reprs = std::move(reprs_);
    return out;
  }

 private:
  struct Loaded {
    Constant value;
    std::vector<int> places;
  };

  void step(int i) {
    const int size = edit_.arg(i);
    const bool enough = size > 0 && static_cast<size_t>(size) <= loaded_.size();
    switch (edit_.at(i).opcode) {
      case Opcode::NOP: return;
      case Opcode::LOAD_CONST:
        if (is_literal(i)) return loaded_.push_back({constants_[static_cast<size_t>(edit_.arg(i))], {i}});
        break;
      case Opcode::BUILD_TUPLE:
        if (enough || size == 0) return fold_tuple(i);
        break;
      case Opcode::BUILD_LIST:
        if (enough && size >= kFewestFoldedElements) fold_elements(i, Opcode::LIST_EXTEND);
        break;
      case Opcode::BUILD_SET:
        if (enough && size >= kFewestFoldedElements) fold_elements(i, Opcode::SET_UPDATE);
        break;
      default: break;
    }
    loaded_.clear();
  }

  bool is_literal(int i) const {
    const auto index = static_cast<size_t>(edit_.arg(i));
    return index < constants_.size() && !constants_[index].is(Constant::Kind::kPlaceholder) &&
           !constants_[index].is(Constant::Kind::kCode);
  }

  // Takes the last elements off, and their places out of the code.
  Loaded take(int count) {
    Loaded all;
    Constant::Items items;
    for (size_t i = loaded_.size() - static_cast<size_t>(count); i < loaded_.size(); ++i) {
      items.push_back(loaded_[i].value);
      for (const int place : loaded_[i].places) edit_.remove(place);
    }
    loaded_.resize(loaded_.size() - static_cast<size_t>(count));
    all.value = Constant::tuple(std::move(items));
    return all;
  }

  int add(const Constant& value) {
    constants_.push_back(value);
    reprs_.push_back(repr(value));
    return static_cast<int>(constants_.size()) - 1;
  }

  void fold_tuple(int i) {
    Loaded tuple = take(edit_.arg(i));
    edit_.replace(i, {edit_.like(i, Opcode::LOAD_CONST, add(tuple.value))});
    tuple.places = {i};
    loaded_.push_back(std::move(tuple));
  }

  void fold_elements(int i, Opcode extend) {
    const Constant tuple = take(edit_.arg(i)).value;
    const Constant elements = extend == Opcode::SET_UPDATE ? Constant::frozenset(*tuple.items) : tuple;
    edit_.replace(i, {edit_.like(i, edit_.at(i).opcode), edit_.like(i, Opcode::LOAD_CONST, add(elements)),
                      edit_.like(i, extend, 1)});
  }

  InstructionEditor edit_;
  std::vector<Constant>& constants_;
  std::vector<std::string> reprs_;
  std::vector<Loaded> loaded_;
};

}  // namespace

Function folded_displays(const Function& function, std::vector<Constant>& constants,
                         std::vector<int>& origin) {
  return Folder(function, constants).fold(origin);
}

}  // namespace suture
