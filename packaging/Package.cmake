# What `cpack` makes of a build folder: -G DEB, -G TGZ. packaging/README.md says how the
# packages to hand on are made; of any other build they fit this machine and newer ones.
set(LLMPROF_MAINTAINER "llmprof <llmprof@example.com>" CACHE STRING
  "Who packages are from: NAME <ADDRESS>")
set(LLMPROF_SOURCES "" CACHE PATH
  "Debian sources of the libraries, where they are linked in")
set(LLMPROF_FLOOR "" CACHE STRING "The glibc that is built for, if it is chosen")

# For notices.py.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/inside.txt @ONLY CONTENT
"version=@PROJECT_VERSION@
architecture=@CMAKE_SYSTEM_PROCESSOR@
chartjs=@ChartJS_FILE@
chartjs_version=@ChartJS_VERSION@
d3=@D3_PARTS@
d3_version=@D3_VERSION@
nvtx=@NVTX3_INCLUDE_DIR@
")

set(CPACK_PACKAGE_NAME llmprof)
set(CPACK_PACKAGE_FILE_NAME
  llmprof-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_VENDOR llmprof)
set(CPACK_PACKAGE_CONTACT ${LLMPROF_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "profiler of LLM inference on NVIDIA GPUs")
set(CPACK_PACKAGE_DESCRIPTION
"llmprof finds out where the time of an LLM inference workload goes on a
GPU: which stage, which kernels in it, what bounds them and what to change
first. It drives Nsight Systems and Nsight Compute, or reads what they
recorded, from recipes of a few lines of Lua, and writes one folder of
reports to hand on. Recorded captures are included, so that it can be
tried without a GPU.")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS
  "${PROJECT_BINARY_DIR};llmprof;runtime;/"
  "${PROJECT_BINARY_DIR};llmprof;data;/")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/dress.cmake)
set(CPACK_LLMPROF_SOURCES ${LLMPROF_SOURCES})
set(CPACK_LLMPROF_BUILD ${PROJECT_BINARY_DIR})
set(CPACK_LLMPROF_PACKAGING ${CMAKE_CURRENT_LIST_DIR})
if(CMAKE_CROSSCOMPILING)
  set(CPACK_STRIP_FILES OFF) # by the linker
else()
  set(CPACK_STRIP_FILES ON)
endif()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
if(LLMPROF_FLOOR)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${LLMPROF_FLOOR})")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
