#!/usr/bin/env bash
# sdk.sh BUILD CC CXX: do C and C++ programs find the installed library, with
# pkg-config and with CMake, and does the program of docs/c_api.md do what it says? CXX may
# be empty.
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/common.sh"
build=$1 cc=$2 cxx=$3 prefix=$scratch/prefix trace=tests/fixtures/graphs/node.sqlite

cmake --install "$build" --prefix "$scratch/first" --component dev >/dev/null
mv -- "$scratch/first" "$prefix" # the files do not say where they were put

# Public headers alone: private ones of the modules of core/ are not installed.
same headers "$(ls include/llmprof)" "$(ls "$prefix/include/llmprof")"
same 'folders of headers' llmprof "$(ls "$prefix/include")"

# The example of the page, in its own words.
awk '/^```/ { inside = /^```c$/; next } inside' docs/c_api.md >"$scratch/top.c"
lines=$(wc -l <"$scratch/top.c")
((lines > 10 && lines <= 30)) || fail "the example has $lines lines"
cp -- "$scratch/top.c" "$scratch/top.cc"
wanted=$("$build/bin/llmprof" exec tests/e2e/top.lua "$trace")

libraries=$(dirname -- "$(find "$prefix" -name libllmprof.so)")
export PKG_CONFIG_PATH=$libraries/pkgconfig
declare -a shared static
eval "shared=($(pkg-config --cflags --libs llmprof))" # spaces are escaped
eval "static=($(pkg-config --static --cflags --libs llmprof))"
static=("${static[@]/#-lllmprof/-l:libllmprof.a}")

"$cc" -std=c11 -Wall -Wextra -Werror "$scratch/top.c" "${shared[@]}" -o "$scratch/top"
same 'the C program' "$wanted" "$(LD_LIBRARY_PATH=$libraries "$scratch/top" "$trace")"
"$cc" "$scratch/top.c" "${static[@]}" -o "$scratch/alone"
same 'the static program' "$wanted" "$("$scratch/alone" "$trace")"
same 'its refusal' "$scratch/none: No such file or directory" \
  "$("$scratch/alone" "$scratch/none" 2>&1 || true)"

# with_cmake LANGUAGE COMPILER SOURCE
with_cmake() {
  local folder=$scratch/cmake_$1
  mkdir -- "$folder"
  cat >"$folder/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES $1)
find_package(llmprof 0.1 REQUIRED)
add_executable(top "$3")
target_link_libraries(top PRIVATE llmprof::llmprof)
CMAKE
  if ! { cmake -G Ninja -S "$folder" -B "$folder/build" "-DCMAKE_$1_COMPILER=$2" \
    "-DCMAKE_PREFIX_PATH=$prefix" && cmake --build "$folder/build"; } \
    >"$scratch/log" 2>&1; then
    cat -- "$scratch/log"
    fail "CMake: $1"
  fi
  same "the program that CMake built: $1" "$wanted" "$("$folder/build/top" "$trace")"
}

with_cmake C "$cc" "$scratch/top.c"
if [[ $cxx ]]; then
  "$cxx" -std=c++11 -Wall -Wextra -Werror "$scratch/top.cc" "${shared[@]}" -o "$scratch/top++"
  same 'the C++ program' "$wanted" "$(LD_LIBRARY_PATH=$libraries "$scratch/top++" "$trace")"
  with_cmake CXX "$cxx" "$scratch/top.cc"
else
  echo "no C++ compiler: that part is left out"
fi
