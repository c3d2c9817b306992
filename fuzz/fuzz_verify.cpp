#include <cstddef>
#include <cstdint>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  suture::fuzz::verify({reinterpret_cast<const char*>(data), size});
  return 0;
}
