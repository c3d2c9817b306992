// find_blocks: leaders first, then blocks on demand from the entry, then an order.
#include "toolbox/decompile/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace suture::toolbox {
namespace {

bool has_own_block(Op op) { return op == Op::ForIter || op == Op::AsyncForIter || op == Op::MatchCase; }

class BlockFinder {
 public:
  BlockFinder(const LiftedCode& code, const Regions& regions) : code_(code), regions_(regions) {}

  Result<Blocks> run() {
    find_leaders();
    SUTURE_TRY(entry, block_for(-1, code_.entry));
    if (entry != 0)
      return Error::unsupported("decompile", "the code begins inside a try statement's handler");
    while (!work_.empty()) {
      const int block = work_.back();
      work_.pop_back();
      SUTURE_TRY_VOID(fill(block));
    }
    find_order();
    return std::move(result_);
  }

 private:
  int following(int index) const { return index < 0 ? -1 : code_.skip_empty(index); }

  // Where control goes on when __exit__ swallowed the exception; -1: nowhere
  int suppressed(const Region& region) const {
    return region.suppressing < 0 ? -1 : code_.at(region.suppressing).next;
  }

  // Instructions that something other than the single instruction before them leads to.
  void find_leaders() {
    const auto count = static_cast<size_t>(code_.size());
    std::vector<int> entries(count, 0);
    std::vector<bool> seen(count, false);
    leader_.assign(count, false);
    std::vector<int> work;
    const auto reach = [&](int index, bool leads) {
      if (index < 0) return;
      if (++entries[static_cast<size_t>(index)] > 1 || leads) leader_[static_cast<size_t>(index)] = true;
      if (!seen[static_cast<size_t>(index)]) {
        seen[static_cast<size_t>(index)] = true;
        work.push_back(index);
      }
    };
    reach(following(code_.entry), true);
    while (!work.empty()) {
      const int at = work.back();
      work.pop_back();
      const LiftedInstruction& it = code_.at(at);
      const bool branches = it.target >= 0;
      reach(following(it.next), branches || has_own_block(it.op));
      reach(following(it.target), true);
      if (has_own_block(it.op)) leader_[static_cast<size_t>(at)] = true;
      for (int region = regions_.region_of(at); region >= 0; region = regions_.at(region).parent) {
        reach(following(regions_.at(region).handler), true);
        reach(following(suppressed(regions_.at(region))), true);
      }
    }
  }

  // The block that an edge from code inside `from` to an instruction leads to: an entry block when it enters a region.
  Result<int> block_for(int from, int instruction) {
    instruction = following(instruction);
    if (instruction < 0) return Error::unsupported("decompile", "control runs off the end of the code");
    int entered = -1;
    for (int region = regions_.region_of(instruction); region >= 0; region = regions_.at(region).parent) {
      if (regions_.inside(from, region)) break;
      entered = region;
    }
    const auto [known, fresh] =
        blocks_.try_emplace({entered, instruction}, static_cast<int>(result_.all.size()));
    if (fresh) {
      Block block;
      block.entered_region = entered;
      block.region = entered >= 0 ? regions_.at(entered).parent : regions_.region_of(instruction);
      block.place = instruction;
      result_.all.push_back(block);
      work_.push_back(known->second);
    }
    return known->second;
  }

  Status fill(int index) {
    Block block = result_.at(index);
    if (block.entered_region >= 0) {
      const Region& region = regions_.at(block.entered_region);
      SUTURE_TRY(body, block_for(block.entered_region, block.place));
      block.first = body;
      const int other = region.kind == RegionKind::kWith ? suppressed(region) : region.handler;
      if (other >= 0) {
        SUTURE_TRY(handler, block_for(region.parent, other));
        block.second = handler;
      }
    } else {
      SUTURE_TRY_VOID(fill_code(block));
    }
    result_.all[static_cast<size_t>(index)] = std::move(block);
    return ok_status();
  }

  Status fill_code(Block& block) {
    for (int at = block.place;;) {
      block.instructions.push_back(at);
      const LiftedInstruction& it = code_.at(at);
      const int next = following(it.next);
      if (it.target >= 0) {
        SUTURE_TRY(jumped, block_for(block.region, it.target));
        block.second = jumped;
      }
      if (next < 0) {
        if (it.next >= 0 || !ends(it.op))
          return Error::unsupported(
              "decompile", fmt::format("offset {}: control runs off the end of the code", it.offset));
        return ok_status();
      }
      const bool goes_on =
          it.target < 0 && !leader_[static_cast<size_t>(next)] && regions_.region_of(next) == block.region;
      if (goes_on) {
        at = next;
        continue;
      }
      SUTURE_TRY(first, block_for(block.region, next));
      block.first = first;
      return ok_status();
    }
  }

  static bool ends(Op op) {
    return op == Op::Return || op == Op::Raise || op == Op::Reraise || op == Op::Stop;
  }

  // Depth first, what comes later in the source first; so the reverse has it last.
  void find_order() {
    enum class Colour : uint8_t { kWhite, kOpen, kDone };
    const size_t count = result_.all.size();
    std::vector<Colour> colour(count, Colour::kWhite);
    result_.is_header.assign(count, false);
    std::vector<std::pair<int, int>> path = {{0, 0}};
    colour[0] = Colour::kOpen;
    while (!path.empty()) {
      auto& [block, step] = path.back();
      const Block& it = result_.at(block);
      if (step == 2) {
        colour[static_cast<size_t>(block)] = Colour::kDone;
        result_.order.push_back(block);
        path.pop_back();
        continue;
      }
      const int next = step++ == 0 ? it.second : it.first;
      if (next < 0) continue;
      Colour& state = colour[static_cast<size_t>(next)];
      if (state == Colour::kOpen) result_.is_header[static_cast<size_t>(next)] = true;
      if (state != Colour::kWhite) continue;
      state = Colour::kOpen;
      path.push_back({next, 0});
    }
    std::reverse(result_.order.begin(), result_.order.end());
  }

  const LiftedCode& code_;
  const Regions& regions_;
  Blocks result_;
  std::vector<bool> leader_;
  std::map<std::pair<int, int>, int> blocks_;
  std::vector<int> work_;
};

}  // namespace

Result<Blocks> find_blocks(const LiftedCode& code, const Regions& regions) {
  return BlockFinder(code, regions).run();
}

}  // namespace suture::toolbox
