# tenon_add_format(NAME [LIBRARIES ...]): the plugin format.NAME from NAME.c (decode, encode, check, table),
# NAME_scalar.c (portable kernels) and, where the processor has them, NAME_avx2.c, NAME_avx512.c and, if there is one,
# NAME_avx512vbmi.c, each compiled for its instruction set and for nothing beyond it.
set(TENON_FORMAT_COMMON ${CMAKE_CURRENT_LIST_DIR})
set(TENON_FORMAT_AVX2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
set(TENON_FORMAT_AVX512 ${TENON_FORMAT_AVX2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd)

function(tenon_add_format name)
  cmake_parse_arguments(F "" "" "LIBRARIES" ${ARGN})
  if(F_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_format(${name}): takes LIBRARIES and nothing else")
  endif()
  set(sources ${name}.c ${name}_scalar.c)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(APPEND sources ${name}_avx2.c ${name}_avx512.c)
    set(avx512 ${TENON_FORMAT_AVX512})
    if(NOT name MATCHES "^b?f[0-9]+$") # the float formats do without VNNI
      list(APPEND avx512 -mavx512vnni)
    endif()
    set_source_files_properties(${name}_avx2.c PROPERTIES COMPILE_OPTIONS "${TENON_FORMAT_AVX2}")
    set_source_files_properties(${name}_avx512.c PROPERTIES COMPILE_OPTIONS "${avx512}")
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}_avx512vbmi.c)
      list(APPEND sources ${name}_avx512vbmi.c)
      set_source_files_properties(${name}_avx512vbmi.c PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vbmi")
    endif()
  endif()
  tenon_add_plugin(format.${name} SOURCES ${sources} MANIFEST format.${name}.ini LIBRARIES ${F_LIBRARIES})
  target_include_directories(format.${name} PRIVATE ${TENON_FORMAT_COMMON})
  set_property(GLOBAL APPEND PROPERTY TENON_FORMATS ${name}) # for tests and benches, which try them all
endfunction()
