// A filter for every Python warning that lasts as long as an object of ours. It is put in place without telling the warnings
// module, so that it forgets nothing of what it has shown already.
#pragma once

#include "cpython/py_ref.h"

namespace suture {

enum class WarningAction : uint8_t {
  kRaise,
  kIgnore,  // neither shown, nor raised, nor remembered as shown
};

class WarningFilter {
 public:
  explicit WarningFilter(WarningAction action) noexcept;
  ~WarningFilter();
  WarningFilter(const WarningFilter&) = delete;
  WarningFilter& operator=(const WarningFilter&) = delete;

 private:
  PyRef filters_, filter_;  // filter_ is empty when it could not be put
};

}  // namespace suture
