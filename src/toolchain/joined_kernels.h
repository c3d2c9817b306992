// Kernels of several graphs in one run of a compiler: starting one costs more than a small graph does.
//
// How it works
//   The texts follow each other, each in a namespace of its own. Graphs that are alike have kernels of the same names, so the
//   symbols of each part get its number behind them: by a macro, which also reaches the functions that are named after them.
//   The object is one cache entry; each part has an entry under its own key that says where it is.
// Invariant
//   - A part is the text that it would be alone: same prelude, same flags. Only what surrounds it differs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "toolchain/toolchain.h"

namespace suture {

// Sources with the same flags; at least one.
KernelSource joined(std::span<const KernelSource> parts);
std::vector<std::string> symbols_in_part(const std::vector<std::string>& symbols, size_t part);

// What stands in the cache for a part in place of an object.
struct PartOfObject {
  size_t part = 0;
  Digest whole{};  // key of the entry that has the object

  std::string payload() const;
  static std::optional<PartOfObject> read(std::string_view payload);  // none: it is an object itself
};

// The library of the whole object under the names of one part.
std::unique_ptr<KernelLibrary> part_of(std::unique_ptr<KernelLibrary> whole,
                                       const std::vector<std::string>& symbols, size_t part);

}  // namespace suture
