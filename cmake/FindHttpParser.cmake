# Finds http_parser: the imported target HttpParser::HttpParser, and HttpParser_VERSION where it can be read.

find_path(HttpParser_INCLUDE_DIR http_parser.h)
find_library(HttpParser_LIBRARY NAMES http_parser)
mark_as_advanced(HttpParser_INCLUDE_DIR HttpParser_LIBRARY)

if(EXISTS "${HttpParser_INCLUDE_DIR}/http_parser.h")
  file(STRINGS "${HttpParser_INCLUDE_DIR}/http_parser.h" lines REGEX "#define HTTP_PARSER_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" lines "${lines}")
  string(REPLACE ";" "." HttpParser_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HttpParser REQUIRED_VARS HttpParser_LIBRARY HttpParser_INCLUDE_DIR VERSION_VAR HttpParser_VERSION)

if(HttpParser_FOUND AND NOT TARGET HttpParser::HttpParser)
  add_library(HttpParser::HttpParser UNKNOWN IMPORTED)
  set_target_properties(HttpParser::HttpParser PROPERTIES
    IMPORTED_LOCATION "${HttpParser_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${HttpParser_INCLUDE_DIR}")
endif()
