# shellcheck shell=bash
# What the scripts of packaging/ share; sourced. A failure is one line and the log's name.
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
work=${LLMPROF_PACKAGING:-$root/build/packaging} # what is fetched and built; may be removed
out=$root/build/packages # the artefacts
floor=2.28               # the oldest glibc that the binaries run with
oldest_zig=0.17
sources=$work/sources
python=$work/python/bin/python
headers=$work/headers

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8

say() {
  printf 'packaging: %s\n' "$*" >&2
}

# give_up STATUS TEXT: 1 a step failed, 2 usage, 3 something is missing
give_up() {
  say "$2"
  exit "$1"
}

# What the script that runs says of itself at its head.
case " $* " in
*' --help '* | *' -h '*)
  sed -nE '1d; /^#( shellcheck|$)/d; /^#/!q; s/^# //p' "$0"
  exit
  ;;
esac

# begin FILE: can it be written? It is empty then.
begin() {
  { mkdir -p -- "$(dirname -- "$1")" && : >"$1"; } 2>/dev/null ||
    give_up 1 "$1: cannot be written; is there room on the disk?"
}

# step WHAT[: HINT] COMMAND...: run it; when it fails, say why, and the hint, in one line.
step() {
  local what=${1%%: *} hint='' log why
  [[ $1 != *': '* ]] || hint="; ${1#*: }"
  log=$work/log/${what//[^A-Za-z0-9_.]/-}.txt
  shift
  begin "$log"
  "$@" >"$log" 2>&1 </dev/null && return
  if grep -qE 'No space left|NoSpaceLeft|DiskQuota' "$log" || ! echo >>"$log" 2>/dev/null; then
    give_up 1 "$what failed: no space left in $work"
  fi
  why=$(grep -iE 'error:|^E:|fatal|cannot|not found' "$log" | tail -1 | cut -c1-160) || true
  give_up 1 "$what failed: ${why:-see the log} ($log)$hint"
}

# need COMMAND=PACKAGE...: are the tools there?
need() {
  local pair missing=''
  for pair; do
    command -v "${pair%%=*}" >/dev/null || missing+=" ${pair#*=}"
  done
  [[ ! $missing ]] || give_up 3 "missing Debian packages:$missing"
}

# architectures WORD...: those that were asked for, or both, into $architectures
architectures() {
  local word
  architectures=("$@")
  (($#)) || architectures=(x86_64 aarch64)
  for word in "${architectures[@]}"; do
    case $word in
    x86_64 | aarch64) ;;
    *) give_up 2 "$word: not an architecture that packages are made for; x86_64 and aarch64 are" ;;
    esac
  done
}

# ---- what is fetched ----

# The tools of python.txt, once.
fetch_python_tools() {
  local list=$root/packaging/python.txt
  [[ ! $work/python/done -nt $list ]] || return 0
  say "fetching zig and auditwheel"
  step "making a Python environment" python3 -m venv "$work/python"
  step "fetching from the Python index: is there a network? ZIG=PATH names a zig that is there" \
    "$python" -m pip install --quiet -r "$list"
  touch -- "$work/python/done"
}

# The collector's headers, as the tree pins them, whatever the machine has.
fetch_headers() {
  local list=$root/third_party/headers.txt
  [[ ! $headers/done -nt $list ]] || return 0
  say "fetching the headers of CUPTI and NVTX"
  [[ -x $python ]] || step "making a Python environment" python3 -m venv "$work/python"
  step "fetching headers from the Python index: is there a network?" \
    "$python" -m pip install --quiet --no-deps --require-hashes --only-binary :all: \
    --target "$headers" -r "$list"
  rm -rf -- "$headers"/nvidia/*/lib
  touch -- "$headers/done"
}

# Sets $zig: words that start it.
find_zig() {
  local is
  if [[ ${ZIG:-} ]]; then
    zig=("$ZIG")
  else
    fetch_python_tools
    zig=("$python" -m ziglang)
  fi
  is=$("${zig[@]}" version 2>/dev/null) || give_up 3 "${zig[*]}: does not start"
  [[ $(printf '%s\n' "$oldest_zig" "$is" | sort -V | head -1) == "$oldest_zig" ]] ||
    give_up 3 "zig $is is too old: $oldest_zig or newer is needed"
}

# Where it and its licence lie.
zig_folder() {
  local lib
  lib=$("${zig[@]}" env | sed -nE 's/.*lib_dir"? *[=:] *"([^"]*)".*/\1/p')
  dirname -- "$lib"
}

# The machine's own lists of packages, as lists of sources: of its release, not of others'
# archives, which may have none. In FOLDER, with what apt keeps of them.
source_lists() {
  local folder=$1 release file
  # shellcheck disable=SC1091 # of the machine
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  mkdir -p -- "$folder"/{parts,state/lists/partial,cache/archives/partial}
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ ! -e $file ]] || sed -nE "/^deb\\s+(\\[[^]]*\\]\\s+)?\\S+\\s+$release/s/^deb/deb-src/p" "$file"
  done >"$folder/parts/lines.list"
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ ! -e $file ]] || awk -v RS= -v ORS='\n\n' -v release="$release" '
      $0 ~ "(^|\n)Types:[^\n]*deb" && $0 ~ "(^|\n)Suites: *" release {
        gsub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src"); print }' "$file"
  done >"$folder/parts/stanzas.sources"
  [[ -s $folder/parts/lines.list || -s $folder/parts/stanzas.sources ]] ||
    give_up 3 "no list of packages of ${release:-this release} in /etc/apt"
  apt_options=(-q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/parts"
    -o Dir::State="$folder/state" -o Dir::State::status=/var/lib/dpkg/status
    -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root)
}

# The sources of Debian packages, with Debian's patches; apt's own lists stay as they are.
fetch_sources() {
  local name list=$root/packaging/sources.txt
  [[ ! $sources/done -nt $list ]] || return 0
  need apt-get=apt dpkg-source=dpkg-dev
  begin "$work/log/begun.txt"
  local -a names apt_options
  mapfile -t names < <(sed '/^#/d; s/ .*//' "$list")
  rm -rf -- "$sources" "$work/apt"
  mkdir -p -- "$sources/archives"
  say "fetching the sources of ${names[*]}"
  source_lists "$work/apt"
  step "apt-get update: is there a network?" apt-get "${apt_options[@]}" update
  (cd -- "$sources/archives" && step "apt-get source" \
    apt-get "${apt_options[@]}" source --download-only "${names[@]}")
  for name in "${names[@]}"; do
    step "unpacking $name" dpkg-source --no-check -x "$sources/archives/$name"_*.dsc "$sources/$name"
  done
  rm -rf -- "$work/apt"
  touch -- "$sources/done"
}

# ---- what is built ----

# tools ARCHITECTURE: the compiler as programs of their own names, for CMake and configure
tools() {
  local bin=$work/$1/bin word
  mkdir -p -- "$bin"
  printf -v word '%q ' "${zig[@]}"
  printf '#!/bin/sh\nexec %scc -target %s-linux-gnu.%s "$@"\n' "$word" "$1" "$floor" >"$bin/cc"
  printf '#!/bin/sh\nexec %sar "$@"\n' "$word" >"$bin/ar"
  printf '#!/bin/sh\nexec %sranlib "$@"\n' "$word" >"$bin/ranlib"
  chmod +x -- "$bin"/*
}

# What runs here while building: a compiler for this machine, and Lua's.
build_here() {
  local here=$work/here
  [[ ! -x $here/llmprof_pack_capture ]] || return 0
  mkdir -p -- "$here"
  local word
  printf -v word '%q ' "${zig[@]}"
  printf '#!/bin/sh\nexec %scc "$@"\n' "$word" >"$here/cc"
  chmod +x -- "$here/cc"
  echo '#define DEB_HOST_MULTIARCH ""' >"$here/lua5.4-deb-multiarch.h"
  local -a lua
  mapfile -t lua < <(find "$sources/lua5.4/src" -name '*.c' ! -name lua.c ! -name luac.c)
  step "building what compiles Lua" "$here/cc" -O1 -DLUA_USE_POSIX \
    -I "$here" -I "$sources/lua5.4/src" \
    "$root/core/lua/compile.c" "${lua[@]}" -lm -o "$here/llmprof_compile"
  mkdir -p -- "$here/sqlite"
  (cd -- "$here/sqlite" && step "configuring sqlite3" "$sources/sqlite3/configure" \
    CC="$here/cc" --disable-tcl --disable-readline &&
    step "making sqlite3.c" make sqlite3.c sqlite3.h)
  local -a zlib
  mapfile -t zlib < <(find "$sources/zlib" -maxdepth 1 -name '*.c')
  step "building what packs captures" "$here/cc" -O1 -D_GNU_SOURCE -DHAVE_UNISTD_H \
    -DSQLITE_OMIT_LOAD_EXTENSION -I "$here/sqlite" -I "$sources/zlib" \
    "$root/core/lua/pack_capture.c" "$here/sqlite/sqlite3.c" "${zlib[@]}" -lm \
    -o "$here/llmprof_pack_capture"
}

# autotools ARCHITECTURE NAME OPTION...: configure it, out of its tree
autotools() {
  local arch=$1 name=$2 prefix=$work/$1/prefix folder=$work/$1/$2 file
  rm -rf -- "$folder"
  mkdir -p -- "$folder"
  # Debian's patches are newer than what was made of the files they change.
  for file in aclocal.m4 configure config.h.in Makefile.in; do
    find "$sources/$name" -name "$file" -exec touch -- {} +
  done
  (cd -- "$folder" && PATH=$work/$arch/bin:$PATH step "configuring $name for $arch" \
    "$sources/$name/configure" --host="$arch-linux-gnu" --prefix="$prefix" \
    CC=cc AR=ar RANLIB=ranlib CFLAGS="-O2 -fPIC" \
    CPPFLAGS="-I$prefix/include -DHAVE_WCSDUP=1" LDFLAGS="-L$prefix/lib" "${@:3}")
}

# Of ncurses only what looks terminals up, in the folders where systems keep them.
build_tinfo() {
  local arch=$1 prefix=$work/$1/prefix folder=$work/$1/ncurses
  autotools "$arch" ncurses --with-build-cc="$work/here/cc" --with-termlib --disable-widec \
    --without-{ada,cxx,cxx-binding,manpages,progs,tests,debug,shared,gpm} \
    --disable-db-install --with-default-terminfo-dir=/usr/share/terminfo \
    --with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo:/usr/lib/terminfo
  PATH=$work/$arch/bin:$PATH step "building tinfo for $arch" \
    make -C "$folder/include" -j "$(nproc)" -s
  PATH=$work/$arch/bin:$PATH step "building tinfo for $arch" \
    make -C "$folder/ncurses" -j "$(nproc)" -s ../lib/libtinfo.a
  install -D -m 644 "$folder/lib/libtinfo.a" "$prefix/lib/libtinfo.a"
  ln -sf libtinfo.a "$prefix/lib/libtermcap.a" # what libedit looks for
  install -D -m 644 -t "$prefix/include" "$folder"/include/{curses,term,ncurses_dll,unctrl}.h
}

build_edit() {
  local arch=$1 folder=$work/$1/libedit
  autotools "$arch" libedit --disable-shared --disable-examples
  PATH=$work/$arch/bin:$PATH step "building libedit for $arch" \
    make -C "$folder/src" -j "$(nproc)" install
}

# build_libraries ARCHITECTURE: all of them, into its prefix
build_libraries() {
  local arch=$1
  [[ ! -e $work/$arch/prefix/done ]] || return 0
  say "building the libraries for $arch"
  step "configuring the libraries for $arch" cmake -G Ninja -S "$root/packaging/libraries" \
    -B "$work/$arch/libraries" -DCMAKE_TOOLCHAIN_FILE="$root/packaging/zig.cmake" \
    -DARCHITECTURE="$arch" -DFOLDER="$work/$arch" -DSOURCES="$sources" -DSQLITE="$work/here/sqlite" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$work/$arch/prefix"
  step "building the libraries for $arch" cmake --build "$work/$arch/libraries" --target install
  build_tinfo "$arch"
  build_edit "$arch"
  touch -- "$work/$arch/prefix/done"
}

# build ARCHITECTURE: llmprof itself; $work/ARCHITECTURE/build can then be installed from
build() {
  local arch=$1
  need cmake=cmake ninja=ninja-build make=make tclsh=tcl
  find_zig
  fetch_sources
  fetch_headers
  build_here
  tools "$arch"
  build_libraries "$arch"
  say "building llmprof for $arch"
  step "configuring for $arch" cmake -G Ninja -S "$root" -B "$work/$arch/build" \
    -DCMAKE_TOOLCHAIN_FILE="$root/packaging/zig.cmake" -DARCHITECTURE="$arch" \
    -DFOLDER="$work/$arch" -DCMAKE_BUILD_TYPE=Release -DLLMPROF_BUILD_TESTS=OFF \
    -DLLMPROF_BUILD_TOOLS="$work/here" -DCUPTI_INCLUDE_DIR="$headers/nvidia/cu13/include" \
    -DCUPTI_CUDA_INCLUDE_DIR="$headers/nvidia/cu13/include" \
    -DNVTX3_INCLUDE_DIR="$headers/nvidia/cu13/include" \
    -DLLMPROF_SOURCES="$sources" -DLLMPROF_FLOOR="$floor"
  printf '%s\n' "zig=$(zig_folder)" "zig_version=$("${zig[@]}" version)" "floor=$floor" \
    >>"$work/$arch/build/inside.txt"
  step "building for $arch" cmake --build "$work/$arch/build"
}

# keep FILE: into $out, with its checksum, and say so
keep() {
  local name=${1##*/}
  step "keeping $name" install -D -m 644 -- "$1" "$out/$name"
  (cd -- "$out" && sha256sum -- "$name" >"$name.sha256")
  printf '%s  %s bytes\n' "$out/$name" "$(stat -c %s -- "$out/$name")"
}

# pack GENERATOR PATTERN WORD...: what cpack makes, for each architecture
pack() {
  local generator=$1 pattern=$2 arch folder
  architectures "${@:3}"
  for arch in "${architectures[@]}"; do
    build "$arch"
    folder=$work/$arch/$generator
    rm -rf -- "$folder"
    step "packing $generator for $arch" cpack --config "$work/$arch/build/CPackConfig.cmake" \
      -G "$generator" -B "$folder"
    # shellcheck disable=SC2086 # a pattern
    keep "$folder"/$pattern
  done
}
