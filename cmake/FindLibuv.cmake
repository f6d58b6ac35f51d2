# Finds libuv: the imported target Libuv::Libuv, and Libuv_VERSION where it can be read.

find_path(Libuv_INCLUDE_DIR uv.h)
find_library(Libuv_LIBRARY NAMES uv)
mark_as_advanced(Libuv_INCLUDE_DIR Libuv_LIBRARY)

if(EXISTS "${Libuv_INCLUDE_DIR}/uv/version.h")
  file(STRINGS "${Libuv_INCLUDE_DIR}/uv/version.h" lines REGEX "#define UV_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" lines "${lines}")
  string(REPLACE ";" "." Libuv_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libuv REQUIRED_VARS Libuv_LIBRARY Libuv_INCLUDE_DIR VERSION_VAR Libuv_VERSION)

if(Libuv_FOUND AND NOT TARGET Libuv::Libuv)
  add_library(Libuv::Libuv UNKNOWN IMPORTED)
  set_target_properties(Libuv::Libuv PROPERTIES
    IMPORTED_LOCATION "${Libuv_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Libuv_INCLUDE_DIR}")
endif()
