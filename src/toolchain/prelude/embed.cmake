# Makes prelude_text.cpp, the prelude as one string, from the parts below in this order. #line markers keep the part names in
# diagnostics. Run at configure time to set up the rule, and again as a script (-DOUTPUT=...) at build time.
set(SUTURE_PRELUDE_PARTS types.h arithmetic.h cast.h division.h c_library.h vector_types.h vector_trig.h
    vector_exp.h vector_log.h vector_power.h power.h)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/reduction.h)
  list(APPEND SUTURE_PRELUDE_PARTS reduction.h)
endif()

if(OUTPUT)
  set(text "")
  foreach(part IN LISTS SUTURE_PRELUDE_PARTS)
    file(READ ${CMAKE_CURRENT_LIST_DIR}/${part} content)
    string(APPEND text "    R\"SUTURE_PART(#line 1 \"prelude/${part}\"\n${content})SUTURE_PART\"\n")
  endforeach()
  file(WRITE ${OUTPUT} "// Generated from src/toolchain/prelude by embed.cmake.\n#include \"toolchain/prelude.h\"\n\nnamespace suture {\n\nstd::string_view prelude_text() {\n  static constexpr char kText[] =\n${text};\n  return {kText, sizeof kText - 1};\n}\n\n}  // namespace suture\n")
  return()
endif()

list(TRANSFORM SUTURE_PRELUDE_PARTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/ OUTPUT_VARIABLE suture_prelude_files)
set(suture_prelude_cpp ${CMAKE_CURRENT_BINARY_DIR}/prelude_text.cpp)
add_custom_command(
  OUTPUT ${suture_prelude_cpp}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${suture_prelude_cpp} -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  DEPENDS ${suture_prelude_files} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  COMMENT "Embedding the kernel prelude")
target_sources(suture_toolchain PRIVATE ${suture_prelude_cpp})
