# Tests of generated kernels compile and run them.
if(TARGET codegen_test)
  target_link_libraries(codegen_test PRIVATE suture_toolchain suture_passes)
endif()
