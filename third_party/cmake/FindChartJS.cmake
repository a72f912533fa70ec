# ChartJS_FILE: Chart.js in one minified file, as Debian packs it; version 3 or
# newer, whose options the pages are written for.
find_file(ChartJS_FILE NAMES chart.min.js chart.umd.js
  PATHS /usr/share/javascript /usr/share/nodejs
  PATH_SUFFIXES chart.js chart.js/dist
  NO_CMAKE_FIND_ROOT_PATH)
if(ChartJS_FILE)
  file(STRINGS ${ChartJS_FILE} banner LIMIT_COUNT 1 REGEX "Chart.js v[0-9.]+")
  string(REGEX REPLACE ".*Chart\\.js v([0-9.]+).*" "\\1"
    ChartJS_VERSION "${banner}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ChartJS
  REQUIRED_VARS ChartJS_FILE
  VERSION_VAR ChartJS_VERSION)
mark_as_advanced(ChartJS_FILE)
