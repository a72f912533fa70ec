# NVTX3::NVTX3: header-only, from the CUDA Toolkit, a package of its own or build/headers.
find_path(NVTX3_INCLUDE_DIR nvtx3/nvToolsExt.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda ${PROJECT_SOURCE_DIR}/build/headers/nvidia/cu13
  PATH_SUFFIXES include targets/x86_64-linux/include)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NVTX3 REQUIRED_VARS NVTX3_INCLUDE_DIR)
if(NVTX3_FOUND AND NOT TARGET NVTX3::NVTX3)
  add_library(NVTX3::NVTX3 INTERFACE IMPORTED)
  target_include_directories(NVTX3::NVTX3 SYSTEM INTERFACE
    ${NVTX3_INCLUDE_DIR})
  target_link_libraries(NVTX3::NVTX3 INTERFACE ${CMAKE_DL_LIBS})
endif()
mark_as_advanced(NVTX3_INCLUDE_DIR)
