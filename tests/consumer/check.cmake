# Builds project/ against LeanTea and runs it. WAY is
#   find_package      against this build, installed into a folder of its own
#   add_subdirectory  against the sources; only configured, for building all of the library again would teach nothing

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\n${output}\nended with ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(flags -G "${GENERATOR}" -D CMAKE_CXX_COMPILER=${COMPILER} -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${WORK}/build")

if(WAY STREQUAL "find_package")
  run("${CMAKE_COMMAND}" --install "${LEANTEA_BUILD}" --prefix "${WORK}/prefix")
  run("${CMAKE_COMMAND}" ${flags} -D "CMAKE_PREFIX_PATH=${WORK}/prefix")
  run("${CMAKE_COMMAND}" --build "${WORK}/build")
  run("${WORK}/build/hello")
else()
  run("${CMAKE_COMMAND}" ${flags} -D "LEANTEA_SOURCE=${LEANTEA_SOURCE}")
  # A user's project gets the library and none of our programs or tests.
  run("${CMAKE_COMMAND}" --build "${WORK}/build" --target help)
  file(GLOB_RECURSE strangers "${WORK}/build/leantea/*CTestTestfile.cmake" "${WORK}/build/leantea/examples/*")
  list(FILTER strangers INCLUDE REGEX "/(tests|examples|lab|fuzz)/")
  if(strangers)
    message(FATAL_ERROR "built although LeanTea is not the top-level project: ${strangers}")
  endif()
endif()
