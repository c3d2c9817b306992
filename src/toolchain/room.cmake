# What the toolchain room needs besides its sources: the embedded prelude, and libraries and paths for its tests.
include(${CMAKE_CURRENT_LIST_DIR}/prelude/embed.cmake)
if(TARGET toolchain_test)
  find_library(MPFR_LIBRARY mpfr REQUIRED)
  find_library(GMP_LIBRARY gmp REQUIRED)
  target_link_libraries(toolchain_test PRIVATE ${MPFR_LIBRARY} ${GMP_LIBRARY} suture_ops)
endif()
