#include "toolbox/dump/run_support.h"

namespace suture::toolbox {

std::string_view run_support_text() {
  return
  // C++ as text: it is compiled by the user's compiler, not by ours. A test builds it.
#include "toolbox/dump/run_support.inc"
      ;
}

}  // namespace suture::toolbox
