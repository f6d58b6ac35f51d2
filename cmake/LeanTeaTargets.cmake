# The shapes that targets of this project have. A new file in a folder that exists needs no change to CMake at all:
#   src/<folder>/**/x.cpp         goes into leantea_<folder>
#   src/<folder>/**/x_test.cpp    goes into leantea_<folder>_test
#   src/<folder>/**/x_bench.cpp   goes into leantea_<folder>_bench
#   tests/<name>/*.cpp            goes into leantea_tests_<name>

# Sources that belong to the other system's event queue.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  list(APPEND leantea_left_out "kqueue[^/]*$")
else()
  list(APPEND leantea_left_out "epoll[^/]*$" "/src/net/uring/")
endif()

# Puts into <out> the files below src/<folder> whose path matches <regex>, without those of features that are off.
function(leantea_glob out folder regex)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp")
  list(FILTER files INCLUDE REGEX "${regex}")
  foreach(pattern IN LISTS leantea_left_out)
    list(FILTER files EXCLUDE REGEX "${pattern}")
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# leantea_add_folder(<folder> LINKS <target>... [FEATURES <NAME>...]): the static library leantea_<folder>, called
# leantea::<folder> in the installed package. A folder without a source file is an interface library, so a folder of
# headers alone, or an empty one, is fine too.
function(leantea_add_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS;FEATURES")
  set(target leantea_${folder})
  leantea_glob(sources ${folder} "\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:leantea_compile>)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(leantea::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder} CXX_EXTENSIONS OFF)
  target_compile_features(${target} ${scope} cxx_std_23)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${scope} ${arg_LINKS})
  foreach(feature IN LISTS arg_FEATURES)
    if(LEANTEA_HAS_${feature})
      target_compile_definitions(${target} ${scope} LEANTEA_HAS_${feature}=1)
      target_link_libraries(${target} ${scope} ${leantea_target_${feature}})
    endif()
  endforeach()
endfunction()

# leantea_internal(<target>): an executable or library of this project that is no part of the library. It is compiled as
# strictly as the library is, and may include src/.
function(leantea_internal target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${target} PRIVATE LEANTEA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE leantea_compile)
endfunction()

# leantea_add_test(<target> SOURCES <file>... [LINKS <target>...] [PREFIX <text>] [TIMEOUT <seconds>] [SERIAL]):
# a GoogleTest executable, each of its tests a test of CTest called <PREFIX><Suite>.<Name> and labelled with the prefix.
# SERIAL tests run alone: those that measure, or that would be disturbed by a busy machine.
function(leantea_add_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "PREFIX;TIMEOUT" "SOURCES;LINKS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(arg_PREFIX)
    string(REGEX REPLACE "/$" "" label "${arg_PREFIX}")
    list(APPEND properties LABELS "${label}")
  endif()
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  add_executable(${target} ${arg_SOURCES})
  leantea_internal(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  # The helpers come first: they may use the library, and an archive is searched once, in this order.
  target_link_libraries(${target} PRIVATE leantea_test_support ${arg_LINKS} GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX "${arg_PREFIX}"
    PROPERTIES ${properties})
endfunction()

# leantea_add_benchmark(<target> SOURCES <file>... [LINKS <target>...]): a Google Benchmark executable. `./dev
# microbench` runs all of them.
function(leantea_add_benchmark target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  add_executable(${target} ${arg_SOURCES})
  leantea_internal(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/benchmarks")
  target_link_libraries(${target} PRIVATE ${arg_LINKS} benchmark::benchmark benchmark::benchmark_main)
endfunction()

# leantea_link_reference_parser(<target>): Debian's libhttp-parser, as a second opinion in tests and benchmarks. Where it
# is installed the macro LEANTEA_HAS_HTTP_PARSER is 1.
function(leantea_link_reference_parser target)
  find_package(HttpParser QUIET)
  if(TARGET HttpParser::HttpParser)
    target_link_libraries(${target} PRIVATE HttpParser::HttpParser)
    target_compile_definitions(${target} PRIVATE LEANTEA_HAS_HTTP_PARSER=1)
  endif()
endfunction()

# leantea_add_folder_tests(<folder>...): the unit tests and micro-benchmarks that lie beside the code.
function(leantea_add_folder_tests)
  foreach(folder IN LISTS ARGN)
    leantea_glob(tests ${folder} "_test\\.cpp$")
    if(LEANTEA_BUILD_TESTS AND tests)
      leantea_add_test(leantea_${folder}_test SOURCES ${tests} LINKS leantea_${folder} PREFIX "${folder}/")
      leantea_link_reference_parser(leantea_${folder}_test)
    endif()
    leantea_glob(benches ${folder} "_bench\\.cpp$")
    if(LEANTEA_BUILD_BENCHMARKS AND benches)
      find_package(benchmark QUIET)
      if(TARGET benchmark::benchmark)
        leantea_add_benchmark(leantea_${folder}_bench SOURCES ${benches} LINKS leantea_${folder})
        leantea_link_reference_parser(leantea_${folder}_bench)
      else()
        message(STATUS "No micro-benchmarks for ${folder}: Google Benchmark was not found (Debian package libbenchmark-dev)")
      endif()
    endif()
  endforeach()
endfunction()
