# How tests are made. Criterion runs each test in a process of its own; ctest runs the programs.
pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
set(TENON_TEST_ENV
    "TENON_TEST_DATA=${CMAKE_SOURCE_DIR}/tests/data" "TENON_TEST_SHARED=${TENON_SHARED}"
    "TENON_TEST_BUILD=${CMAKE_BINARY_DIR}" "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests/cache" "CRITERION_VERBOSITY_LEVEL=1")

# tenon_add_test(NAME SOURCES ... [LIBRARIES ...] [ARGS ...] [TIMEOUT S] [PLAIN]): a Criterion program, or with PLAIN
# one with a main of its own, as a ctest test.
function(tenon_add_test name)
  cmake_parse_arguments(T "PLAIN" "TIMEOUT" "SOURCES;LIBRARIES;ARGS;ENV" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE tenon_sdk ${T_LIBRARIES} m)
  if(NOT T_PLAIN)
    target_link_libraries(${name} PRIVATE PkgConfig::CRITERION)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} ENVIRONMENT "${TENON_TEST_ENV};${T_ENV}"
                       SKIP_RETURN_CODE 77)
endfunction()

# tenon_add_fuzzer(NAME SOURCES ... CORPUS DIR [DICTIONARY FILE] [LIBRARIES ...]): LLVMFuzzerTestOneInput. Always: NAME
# replays the corpus as a test. With TENON_FUZZ (clang) also NAME_fuzz, a libFuzzer program, with what run_fuzzers.sh
# is to tell it beside it.
function(tenon_add_fuzzer name)
  cmake_parse_arguments(F "" "CORPUS;DICTIONARY" "SOURCES;LIBRARIES" ${ARGN})
  tenon_add_test(${name} PLAIN SOURCES ${F_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.c
                 LIBRARIES ${F_LIBRARIES} ARGS ${F_CORPUS})
  if(TENON_FUZZ)
    add_executable(${name}_fuzz ${F_SOURCES})
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY TENON_FUZZERS ${name}_fuzz)
    target_link_libraries(${name}_fuzz PRIVATE tenon_sdk ${F_LIBRARIES} m)
    set_target_properties(${name}_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fuzz)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/fuzz/${name}_fuzz.corpus CONTENT ${F_CORPUS})
    if(F_DICTIONARY)
      file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/fuzz/${name}_fuzz.dictionary CONTENT ${F_DICTIONARY})
    endif()
  endif()
endfunction()
