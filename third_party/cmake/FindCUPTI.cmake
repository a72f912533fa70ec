# CUPTI::CUPTI: the headers alone, from the CUDA Toolkit or build/headers, where
# bootstrap.sh puts those of third_party/headers.txt. One of them includes a
# header of C++ that it does not need; an empty file stands for that.
find_path(CUPTI_INCLUDE_DIR cupti_range_profiler.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda ${PROJECT_SOURCE_DIR}/build/headers/nvidia/cu13
  PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include)
find_path(CUPTI_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda ${PROJECT_SOURCE_DIR}/build/headers/nvidia/cu13
  PATH_SUFFIXES include targets/x86_64-linux/include)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUPTI
  REQUIRED_VARS CUPTI_INCLUDE_DIR CUPTI_CUDA_INCLUDE_DIR)
if(CUPTI_FOUND AND NOT TARGET CUPTI::CUPTI)
  file(WRITE ${CMAKE_BINARY_DIR}/cupti_shim/string "")
  add_library(CUPTI::CUPTI INTERFACE IMPORTED)
  target_include_directories(CUPTI::CUPTI SYSTEM INTERFACE
    ${CUPTI_INCLUDE_DIR}
    ${CUPTI_CUDA_INCLUDE_DIR}
    ${CMAKE_BINARY_DIR}/cupti_shim)
endif()
mark_as_advanced(CUPTI_INCLUDE_DIR CUPTI_CUDA_INCLUDE_DIR)
