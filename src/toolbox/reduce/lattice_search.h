// Simplification of properties that are independent of each other: sizes, dtypes, layouts, values, options.
//
// Each element has levels: 0 is what it was, 1 the simplest form, then ever less simple ones. The search tries level 1 for all
// elements at once, halves the group where that does not fail any more, and tries the further levels, simplest first, on
// elements that are left alone with the failure. Passes repeat while one helped, because one simplification can make room for
// another; forms that are less simple than what was reached are not tried again.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "toolbox/reduce/search.h"

namespace suture::toolbox::reduce {

// `levels[i]`: how many simpler forms element i has, 0 or more.
Status check_lattice(const std::vector<int>& levels);
std::unique_ptr<Search> search_lattice(std::vector<int> levels);

}  // namespace suture::toolbox::reduce
