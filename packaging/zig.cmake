# Toolchain: zig for ARCHITECTURE, as packaging/common.sh prepares it in FOLDER, and the
# libraries in its prefix.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ARCHITECTURE FOLDER)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ARCHITECTURE})
set(CMAKE_C_COMPILER ${FOLDER}/bin/cc)
set(CMAKE_AR ${FOLDER}/bin/ar)
set(CMAKE_RANLIB ${FOLDER}/bin/ranlib)

set(CMAKE_FIND_ROOT_PATH ${FOLDER}/prefix)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)

set(CMAKE_EXE_LINKER_FLAGS_INIT "-s -Wl,--gc-sections")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s -Wl,--gc-sections")

# FindLua looks for a file, which zig makes when it links.
set(LUA_MATH_LIBRARY m CACHE STRING "")
