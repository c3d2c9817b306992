// How it works: backwards from each way to such a tuple, over what ends statements, the outermost one first. Where a
// statement is over in the ordinary way its own follower is the tuple as well, and nothing is moved.
#include "bytecode/readable_returns.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "bytecode/analysis.h"
#include "bytecode/instruction_editor.h"

namespace suture {
namespace {

enum class Ends : uint8_t { kWith, kLoop, kHandler, kName };

// What ends one statement.
struct Cleanup {
  int begin, end;  // places, `end` included
  Ends what;
  bool swaps;  // it keeps a value that lies on top
};

class ReturnMover {
 public:
  explicit ReturnMover(const Function& function) : edit_(function) {
    if (auto depths = stack_depths(function)) depths_ = *std::move(depths);
  }

  Function run(std::vector<int>& origin) {
    if (!depths_.empty())
      for (int i = 0; i < edit_.count(); ++i)
        if (const std::vector<int> tuple = tuple_at(i); begins_here(i) && has_number(tuple))
          move_ways_to(tuple);
    return edit_.result(origin);
  }

 private:
  bool is_none(int i) const {
    const auto& reprs = edit_.old().code.constant_reprs;
    return edit_.is(i, Opcode::LOAD_CONST) && static_cast<size_t>(edit_.arg(i)) < reprs.size() &&
           reprs[static_cast<size_t>(edit_.arg(i))] == "None";
  }
  bool loads(int i) const {
    return edit_.is(i, Opcode::LOAD_CONST) || edit_.is(i, Opcode::LOAD_FAST) ||
           edit_.is(i, Opcode::LOAD_GLOBAL);
  }
  bool begins_here(int i) const { return edit_.is_target(i) || !loads(i - 1); }

  // The places that build the tuple, up to RETURN_VALUE; none: something else stands there. An iteration of a loop that is
  // in the body of an iteration function returns the tuple of the one in that of the other.
  std::vector<int> tuple_at(int i) const {
    std::vector<int> places;
    while (loads(i) && std::ssize(places) < edit_.count()) {
      while (loads(i)) places.push_back(i++);
      if (!edit_.is(i, Opcode::BUILD_TUPLE)) return {};
      places.push_back(i);
      i = past_jumps(i + 1);
      if (edit_.is(i, Opcode::RETURN_VALUE)) return places;
    }
    return {};
  }

  // The number of the end; "": none.
  std::string_view number(const std::vector<int>& tuple) const {
    const auto& reprs = edit_.old().code.constant_reprs;
    for (const int place : tuple) {
      if (!edit_.is(place, Opcode::LOAD_CONST)) continue;
      const std::string_view repr = reprs[static_cast<size_t>(edit_.arg(place))];
      if (std::ranges::all_of(repr, [](char c) { return c >= '0' && c <= '9'; })) return repr;
    }
    return "";
  }
  bool has_number(const std::vector<int>& tuple) const { return !number(tuple).empty(); }
  bool is_next_iteration(const std::vector<int>& tuple) const { return number(tuple) == "0"; }

  int depth(int i) const { return depths_[static_cast<size_t>(i)]; }
  int past_jumps(int i) const {
    for (int steps = 0; steps < edit_.count(); ++steps) {
      if (edit_.is(i, Opcode::JUMP_FORWARD))
        i = edit_.at(i).target;
      else if (edit_.is(i, Opcode::NOP))
        ++i;
      else
        break;
    }
    return i;
  }

  void move_ways_to(const std::vector<int>& tuple) {
    const int begin = tuple.front();
    for (int i = 0; i < edit_.count(); ++i) {
      const bool jumps = edit_.is(i, Opcode::JUMP_FORWARD) && past_jumps(i) == begin;
      const bool falls = i + 1 == begin && !ends_block(edit_.at(i).opcode) && edit_.at(i).target < 0;
      if (jumps || falls) move_way(jumps ? i - 1 : i, jumps ? i : -1, tuple);
    }
  }

  void move_way(int last, int jump, std::vector<int> tuple) {
    const int begin = tuple.front();
    std::vector<int> constants;  // a constant that is returned is pushed behind everything
    for (; edit_.is(last, Opcode::LOAD_CONST) && !edit_.is_target(last); --last) constants.push_back(last);
    tuple.insert(tuple.begin(), constants.rbegin(), constants.rend());
    const std::vector<Cleanup> cleanups = cleanups_before(last);
    if (cleanups.empty()) return constants.empty() ? leave_try(last, jump, tuple) : void();
    if (is_ordinary_end(cleanups.back(), begin, tuple)) return;
    const Cleanup& inner = cleanups.front();
    const bool below = depth(tuple.front()) > 0 && inner_keeps_value(cleanups);
    for (const Cleanup& each : cleanups) {
      if (each.what != Ends::kName && each.swaps != below) return;
      if (each.what == Ends::kName && reads(tuple, edit_.arg(each.end))) return;
    }
    for (const Cleanup& each : cleanups)
      if (!below && each.what != Ends::kName && each.begin != inner.begin)
        edit_.replace(each.begin, {edit_.like(each.begin, Opcode::SWAP, 2), edit_.at(each.begin)});
    for (const int place : constants) edit_.remove(place);
    const int moved = build_before(inner, tuple, !below && inner.what != Ends::kName);
    if (jump >= 0)
      edit_.replace(jump, {edit_.like(jump, Opcode::RETURN_VALUE)});
    else
      edit_.insert_behind(last == inner.begin ? moved : last, edit_.like(last, Opcode::RETURN_VALUE));
  }

  // A try statement has no code where it ends; the tuple of another end than its own is built inside.
  void leave_try(int last, int jump, const std::vector<int>& tuple) {
    const ExceptionRegion* region = last >= 0 ? edit_.old().region_at(last) : nullptr;
    const ExceptionRegion* outside = edit_.old().region_at(tuple.front());
    if (jump < 0 || edit_.is_target(jump) || !region || region->push_last_instruction ||
        !edit_.is(region->target, Opcode::PUSH_EXC_INFO) || is_next_iteration(tuple) ||
        (outside && outside->target == region->target) || depth(tuple.front()) != region->depth)
      return;
    edit_.replace(jump, code_of(tuple));
    const int end = edit_.insert_behind(jump, edit_.like(jump, Opcode::RETURN_VALUE));
    for (ExceptionRegion& each : edit_.regions())
      if (each.begin <= jump && contains(each, jump)) return;
    edit_.regions().push_back({jump, end, region->target, region->depth, false});
  }

  std::vector<Instruction> code_of(const std::vector<int>& tuple) const {
    std::vector<Instruction> code;
    for (const int place : tuple) code.push_back(edit_.at(place));
    return code;
  }

  static bool inner_keeps_value(const std::vector<Cleanup>& cleanups) {
    return std::ranges::any_of(cleanups, &Cleanup::swaps);
  }
  bool reads(const std::vector<int>& tuple, int variable) const {
    return std::ranges::any_of(
        tuple, [&](int place) { return edit_.is(place, Opcode::LOAD_FAST) && edit_.arg(place) == variable; });
  }

  // The tuple is built where the statement still is, so an exception region may have to cover it. The place of what stood
  // there.
  int build_before(const Cleanup& inner, const std::vector<int>& tuple, bool swap) {
    const int place = inner.begin;
    edit_.replace(place, code_of(tuple));
    int behind = -1;
    if (swap) behind = edit_.insert_behind(place, edit_.like(place, Opcode::SWAP, 2));
    const int first = edit_.insert_behind(behind >= 0 ? behind : place, edit_.at(place));
    if (behind < 0) behind = first;
    const ExceptionRegion* inside = region_before(place);
    const ExceptionRegion* here = edit_.old().region_at(place);
    if (inside == here || (inside && here && inside->target == here->target)) return first;
    if (here) {
      // The part of the outer statement begins behind the tuple; what came before stays.
      for (ExceptionRegion& region : edit_.regions())
        if (region.begin <= place && contains(region, place) && region.target == here->target) {
          ExceptionRegion before = region;
          region.begin = behind;
          before.end = place;
          if (before.begin != before.end) edit_.regions().push_back(before);
          break;
        }
    }
    if (inside)
      edit_.regions().push_back(
          {place, behind, inside->target, inside->depth, inside->push_last_instruction});
    return first;
  }
  bool contains(const ExceptionRegion& region, int place) const {
    return region.end == InstructionEditor::kEnd || place < region.end;
  }

  const ExceptionRegion* region_before(int place) const {
    for (int i = place - 1; i >= 0 && (i == place - 1 || edit_.is(i + 1, Opcode::NOP)); --i)
      if (!ends_block(edit_.at(i).opcode) && edit_.old().region_at(i)) return edit_.old().region_at(i);
    for (int i = 0; i < edit_.count(); ++i)
      if (edit_.at(i).target == place && edit_.old().region_at(i)) return edit_.old().region_at(i);
    return nullptr;
  }

  // The innermost first.
  std::vector<Cleanup> cleanups_before(int last) const {
    std::vector<Cleanup> found;
    while (last >= 0) {
      if (edit_.is(last, Opcode::NOP) && !found.empty()) {
        --last;
        continue;
      }
      const auto one = cleanup_that_ends(last);
      if (!one) break;
      found.push_back(*one);
      last = one->begin - 1;
      if (edit_.is_target(one->begin) || (last >= 0 && ends_block(edit_.at(last).opcode))) break;
    }
    std::ranges::reverse(found);
    return found;
  }

  std::optional<Cleanup> cleanup_that_ends(int i) const {
    for (int inside = i; inside > i - 5 && inside > 0; --inside)
      if (edit_.is(i, Opcode::POP_TOP) && edit_.is(i - 1, Opcode::CALL) && edit_.is_target(inside))
        return std::nullopt;
    if (edit_.is(i, Opcode::POP_TOP) && edit_.is(i - 1, Opcode::CALL)) {
      if (!calls_exit(i - 5)) return std::nullopt;
      const Cleanup exit = with_swap(i - 5, i, Ends::kWith);
      return region_of(exit) ? std::optional(exit) : std::nullopt;
    }
    if (edit_.is(i, Opcode::POP_TOP)) {
      const Cleanup drop = with_swap(i, i, Ends::kLoop);
      return loop_of(drop) >= 0 ? std::optional(drop) : std::nullopt;
    }
    if (edit_.is(i, Opcode::POP_EXCEPT)) return with_swap(i, i, Ends::kHandler);
    const bool name = edit_.is(i, Opcode::DELETE_FAST) && edit_.is(i - 1, Opcode::STORE_FAST) &&
                      edit_.arg(i) == edit_.arg(i - 1) && is_none(i - 2);
    return name ? std::optional(Cleanup{i - 2, i, Ends::kName, false}) : std::nullopt;
  }
  bool calls_exit(int i) const {
    return is_none(i) && is_none(i + 1) && is_none(i + 2) && edit_.is(i + 3, Opcode::PRECALL) &&
           edit_.arg(i + 3) == 2 && edit_.is(i + 4, Opcode::CALL) && edit_.arg(i + 4) == 2;
  }
  Cleanup with_swap(int begin, int end, Ends what) const {
    const bool swaps =
        edit_.is(begin - 1, Opcode::SWAP) && edit_.arg(begin - 1) == 2 && !edit_.is_target(begin);
    return {begin - swaps, end, what, swaps};
  }

  // The FOR_ITER whose iterator is dropped.
  int loop_of(const Cleanup& drop) const {
    const int iterator = depth(drop.begin) - drop.swaps;
    for (int i = drop.begin; i >= 0; --i)
      if (edit_.is(i, Opcode::FOR_ITER) && depth(i) == iterator && edit_.at(i).target > drop.begin) return i;
    return -1;
  }

  bool is_ordinary_end(const Cleanup& outer, int begin, const std::vector<int>& tuple) const {
    switch (outer.what) {
      case Ends::kLoop: return past_jumps(edit_.at(loop_of(outer)).target) == begin;
      case Ends::kWith: return behind_swallowed(outer) == begin;
      default: return is_next_iteration(tuple);
    }
  }

  // Where control goes on when __exit__ has swallowed an exception.
  int behind_swallowed(const Cleanup& with) const {
    const int swallowed = edit_.at(region_of(with)->target + 2).target;
    return swallowed < 0 ? -1 : past_jumps(swallowed + 4);
  }
  // Of a with statement that was entered here, or is when the beginning is written; null: the call is all that is left of it.
  const ExceptionRegion* region_of(const Cleanup& with) const {
    const int kept = depth(with.begin) - with.swaps;
    const auto is_it = [&](const ExceptionRegion& region) {
      return region.depth == kept && edit_.is(region.target + 1, Opcode::WITH_EXCEPT_START);
    };
    const ExceptionRegion* before = region_before(with.begin);
    if (before && is_it(*before)) return before;
    const auto& regions = edit_.old().exception_regions;
    const auto found = std::ranges::find_if(regions, is_it);
    return found == regions.end() ? nullptr : &*found;
  }

  InstructionEditor edit_;
  std::vector<int> depths_;
};

}  // namespace

Function returns_inside_statements(const Function& continuation, std::vector<int>& origin) {
  return ReturnMover(continuation).run(origin);
}

}  // namespace suture
