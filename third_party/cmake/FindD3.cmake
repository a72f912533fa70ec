# D3_FILE: the parts of D3 that the page's timeline is drawn with, minified, one
# behind the other, as Debian's node-d3 brings them. D3_PARTS: the files it is of.
set(D3_PARTS "")
set(d3_text "")
foreach(part dispatch color interpolate timer ease selection drag transition
    zoom array collection format time time-format scale)
  set(file /usr/share/nodejs/d3-${part}/dist/d3-${part}.min.js)
  if(NOT EXISTS ${file})
    set(D3_FILE D3_FILE-NOTFOUND)
    break()
  endif()
  file(READ ${file} text)
  string(APPEND d3_text "${text}\n")
  list(APPEND D3_PARTS ${file})
  set(D3_FILE ${CMAKE_BINARY_DIR}/third_party/d3.js)
endforeach()
if(D3_FILE)
  file(CONFIGURE OUTPUT ${D3_FILE} CONTENT "@d3_text@" @ONLY)
  string(REGEX MATCH "d3-zoom/ v([0-9.]+)" banner "${d3_text}")
  set(D3_VERSION ${CMAKE_MATCH_1})
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(D3
  REQUIRED_VARS D3_FILE
  VERSION_VAR D3_VERSION)
