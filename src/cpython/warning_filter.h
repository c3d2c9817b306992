// Filters of Python's warnings that last as long as an object of ours. (RaisingWarnings of objects.h is the other one.)
#pragma once

#include "cpython/py_ref.h"

namespace suture {

// While alive, no Python warning is shown, raised or remembered as shown.
class IgnoredWarnings {
 public:
  IgnoredWarnings() noexcept;
  ~IgnoredWarnings();
  IgnoredWarnings(const IgnoredWarnings&) = delete;
  IgnoredWarnings& operator=(const IgnoredWarnings&) = delete;

 private:
  PyRef filters_, filter_;
};

}  // namespace suture
