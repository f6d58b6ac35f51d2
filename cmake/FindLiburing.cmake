# Finds liburing: the imported target Liburing::Liburing, and Liburing_VERSION where it can be read.

find_path(Liburing_INCLUDE_DIR liburing.h)
find_library(Liburing_LIBRARY NAMES uring)
mark_as_advanced(Liburing_INCLUDE_DIR Liburing_LIBRARY)

# io_uring_version.h exists since liburing 2.4; pkg-config knows older ones.
if(Liburing_LIBRARY)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(PC_LIBURING QUIET liburing)
    set(Liburing_VERSION "${PC_LIBURING_VERSION}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liburing REQUIRED_VARS Liburing_LIBRARY Liburing_INCLUDE_DIR VERSION_VAR Liburing_VERSION)

if(Liburing_FOUND AND NOT TARGET Liburing::Liburing)
  add_library(Liburing::Liburing UNKNOWN IMPORTED)
  set_target_properties(Liburing::Liburing PROPERTIES
    IMPORTED_LOCATION "${Liburing_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Liburing_INCLUDE_DIR}")
endif()
