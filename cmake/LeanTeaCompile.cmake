# How everything of ours is compiled: the target `leantea_compile`, linked privately by each of our targets.
# A user's program that links leantea::leantea gets none of these flags, only C++23.

option(LEANTEA_WERROR "Treat warnings as errors" OFF)
option(LEANTEA_LTO "Link-time optimisation" OFF)
set(LEANTEA_BASELINE "x86-64-v2" CACHE STRING "-march on x86-64; empty for the compiler's default")
set(LEANTEA_SANITIZE "" CACHE STRING "Value for -fsanitize=, e.g. address,undefined or thread")
set(LEANTEA_PGO "OFF" CACHE STRING "Profile-guided optimisation: OFF, GENERATE or USE")
set_property(CACHE LEANTEA_PGO PROPERTY STRINGS OFF GENERATE USE)
set(LEANTEA_PGO_DIR "${CMAKE_BINARY_DIR}/profile" CACHE PATH "Where PGO keeps its profile")

set(leantea_is_gcc FALSE)
set(leantea_is_clang FALSE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(leantea_is_gcc TRUE)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    message(FATAL_ERROR "LeanTea needs GCC 12 or newer, this is ${CMAKE_CXX_COMPILER_VERSION}. Debian 12: apt-get install g++")
  endif()
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(leantea_is_clang TRUE)
  # libstdc++ shows <expected> only to compilers that report finished concepts; Clang does so since 19.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
    message(FATAL_ERROR "LeanTea needs Clang 19 or newer, this is ${CMAKE_CXX_COMPILER_VERSION}. Debian 12: apt-get install clang-19")
  endif()
endif()

# ccache is used where it is installed and nothing else was asked for.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(LEANTEA_CCACHE ccache)
  mark_as_advanced(LEANTEA_CCACHE)
  if(LEANTEA_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${LEANTEA_CCACHE}")
  endif()
endif()

add_library(leantea_compile INTERFACE)
target_compile_features(leantea_compile INTERFACE cxx_std_23)

# ---- Warnings --------------------------------------------------------------------------------------------------------

target_compile_options(leantea_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-qual
  -Wformat=2 -Wimplicit-fallthrough -Wunused -Wmissing-declarations -Wundef -Wdouble-promotion -Wvla
  $<$<BOOL:${LEANTEA_WERROR}>:-Werror>)
if(leantea_is_gcc)
  target_compile_options(leantea_compile INTERFACE
    -Wduplicated-cond -Wextra-semi -Wsuggest-override
    # These look through inlined code and, in GCC 12 with -O2 and above, report what cannot happen (std::string,
    # std::optional and std::expected are enough to provoke them). Clang, ASan and UBSan watch over the same faults.
    -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-free-nonheap-object
    # `{.port = 8080}` with defaults for the rest is how options are written here.
    -Wno-missing-field-initializers)
elseif(leantea_is_clang)
  target_compile_options(leantea_compile INTERFACE
    -Wextra-semi -Winconsistent-missing-override -Wloop-analysis -Wthread-safety -Wno-missing-field-initializers
    -Wno-missing-designated-field-initializers)
endif()

# ---- Code generation -------------------------------------------------------------------------------------------------

if(LEANTEA_BASELINE AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  target_compile_options(leantea_compile INTERFACE "-march=${LEANTEA_BASELINE}")
endif()

if(LEANTEA_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT leantea_lto_works OUTPUT leantea_lto_why LANGUAGES CXX)
  if(leantea_lto_works)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  else()
    message(WARNING "LEANTEA_LTO is ON but this toolchain cannot do it, going on without: ${leantea_lto_why}")
  endif()
endif()

if(LEANTEA_SANITIZE)
  target_compile_options(leantea_compile INTERFACE
    "-fsanitize=${LEANTEA_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(leantea_compile INTERFACE "-fsanitize=${LEANTEA_SANITIZE}")
endif()

if(LEANTEA_PGO STREQUAL "GENERATE")
  target_compile_options(leantea_compile INTERFACE "-fprofile-generate=${LEANTEA_PGO_DIR}" -fprofile-update=atomic)
  target_link_options(leantea_compile INTERFACE "-fprofile-generate=${LEANTEA_PGO_DIR}")
elseif(LEANTEA_PGO STREQUAL "USE")
  target_compile_options(leantea_compile INTERFACE "-fprofile-use=${LEANTEA_PGO_DIR}")
  target_link_options(leantea_compile INTERFACE "-fprofile-use=${LEANTEA_PGO_DIR}")
  if(leantea_is_gcc)
    # Files the training never ran have no profile; they are compiled as without PGO.
    target_compile_options(leantea_compile INTERFACE -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch)
  endif()
elseif(LEANTEA_PGO)
  message(FATAL_ERROR "LEANTEA_PGO is '${LEANTEA_PGO}': use OFF, GENERATE or USE")
endif()
