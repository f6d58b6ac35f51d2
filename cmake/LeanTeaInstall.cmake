# What `cmake --install` puts in place: the headers, one archive per folder, and a package for find_package(leantea).

include(CMakePackageConfigHelpers)

set(leantea_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/leantea")

install(TARGETS leantea leantea_base leantea_http leantea_h1 leantea_app leantea_net leantea_server
  EXPORT leantea-targets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/leantea" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT leantea-targets NAMESPACE leantea:: DESTINATION "${leantea_package_dir}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/leantea-config.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/leantea-config.cmake" INSTALL_DESTINATION "${leantea_package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/leantea-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/leantea-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/leantea-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLiburing.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLibuv.cmake"
  DESTINATION "${leantea_package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/leantea")
