# Optional libraries. Each feature has an option LEANTEA_WITH_<NAME> = AUTO | ON | OFF:
#   AUTO  used where it is found (the default)
#   ON    must be found, else the configuration ends with the name of the Debian package to install
#   OFF   not used
# The result is LEANTEA_HAS_<NAME>: a CMake variable, and a macro for the folder that names the feature in
# leantea_add_folder(... FEATURES <NAME>). Where a feature is off, its SOURCES folder is not compiled.

set(leantea_summary "")
set(leantea_left_out "")  # folders of features that are off

# leantea_feature(NAME "what it gives" MODULE <find module> TARGET <imported target> PACKAGE <Debian package>
#                 SOURCES <folder below src/>)
function(leantea_feature name what)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "MODULE;TARGET;PACKAGE;SOURCES" "")
  set(LEANTEA_WITH_${name} AUTO CACHE STRING "${what}: AUTO, ON or OFF (Debian package ${arg_PACKAGE})")
  set_property(CACHE LEANTEA_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  set(wish "${LEANTEA_WITH_${name}}")
  set(has FALSE)
  set(note "off: LEANTEA_WITH_${name}=OFF")
  if(wish STREQUAL "AUTO" OR wish)
    find_package(${arg_MODULE} QUIET)
    if(TARGET ${arg_TARGET})
      set(has TRUE)
      set(note "on (${arg_MODULE} ${${arg_MODULE}_VERSION})")
    elseif(wish STREQUAL "AUTO")
      set(note "off: not found (Debian package ${arg_PACKAGE})")
    else()
      message(FATAL_ERROR "LEANTEA_WITH_${name}=${wish}, but ${arg_MODULE} was not found. "
        "Install it (Debian: apt-get install ${arg_PACKAGE}), or set LEANTEA_WITH_${name} to AUTO or OFF.")
    endif()
  endif()
  set(LEANTEA_HAS_${name} ${has} PARENT_SCOPE)
  set(leantea_target_${name} ${arg_TARGET} PARENT_SCOPE)
  if(NOT has)
    set(leantea_left_out ${leantea_left_out} "/src/${arg_SOURCES}/" PARENT_SCOPE)
  endif()
  set(leantea_summary "${leantea_summary}|${what}: ${note}" PARENT_SCOPE)
endfunction()

function(leantea_print_summary)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  message(STATUS "LeanTea ${PROJECT_VERSION}: ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
    "${CMAKE_BUILD_TYPE}, LTO ${LEANTEA_LTO}, baseline ${LEANTEA_BASELINE}")
  string(REPLACE "|" ";" lines "${leantea_summary}")
  foreach(line IN LISTS lines)
    if(line)
      message(STATUS "  ${line}")
    endif()
  endforeach()
  foreach(part TESTS BENCHMARKS EXAMPLES LAB FUZZERS)
    if(LEANTEA_BUILD_${part})
      list(APPEND parts ${part})
    endif()
  endforeach()
  string(TOLOWER "${parts}" parts)
  string(REPLACE ";" ", " parts "${parts}")
  message(STATUS "  also built: ${parts}")
endfunction()
