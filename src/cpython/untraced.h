// While one lives, no trace or profile function of this thread is called: debuggers see the program only.
#pragma once

namespace suture {

class Untraced {
 public:
  Untraced() noexcept;
  ~Untraced();
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;
};

}  // namespace suture
