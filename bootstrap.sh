#!/usr/bin/env bash
# Sets llmprof up and starts it. Says nothing when there is nothing to do.
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
log=$root/build/bootstrap.log

usage() {
  cat <<'TXT'
usage: ./bootstrap.sh [build]     install missing packages, build llmprof and its collector
       ./bootstrap.sh run ARG...  the same, then `llmprof ARG...`
       ./bootstrap.sh test        run every test: what C may not bear under sanitizers,
                             core and bindings under valgrind as well, threads
                             under ThreadSanitizer
       ./bootstrap.sh help        this text

Packages (third_party/packages.txt) are installed with apt, as root or through
sudo. Where the headers of CUPTI are missing, those for the collector are fetched
from the Python package index into build/headers. Exit status: that of llmprof; 1 a build or test failed; 2 usage;
3 packages are missing and could not be installed.
TXT
}

say() {
  printf 'bootstrap: %s\n' "$*" >&2
}

# Run a step; show what it prints only when it fails.
quietly() {
  "$@" >"$log" 2>&1 || {
    cat -- "$log" >&2
    return 1
  }
}

# ---- packages ----

# packages KIND...: the names listed for these kinds
packages() {
  local kind name
  while read -r kind name; do
    [[ " $* " != *" $kind "* ]] || printf '%s\n' "$name"
  done <"$root/third_party/packages.txt"
}

# missing KIND...: those of them that dpkg does not have
missing() {
  local -a wanted
  mapfile -t wanted < <(packages "$@" | sort)
  comm -23 <(printf '%s\n' "${wanted[@]}") \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" \
      2>/dev/null | sed -n 's/^installed //p' | sort -u)
}

# One command as root, so that sudo asks once. The lists of packages are only
# brought up to date when they do not do as they are.
apt_install() {
  local install='apt-get -q -y install --no-install-recommends "$@"'
  local -a as_root=(env DEBIAN_FRONTEND=noninteractive)
  ((EUID == 0)) || as_root=(sudo "${as_root[@]}")
  "${as_root[@]}" sh -c "$install || { apt-get -q update && $install; }" sh "$@"
}

# The end, when PACKAGE... are not there and cannot be installed.
give_up() {
  cat >&2 <<TXT
bootstrap: llmprof needs these Debian packages, or their equivalents:
    $*
Have them installed:
    apt-get update && apt-get install --no-install-recommends $*
Where they are there in another way, build without this script:
    cmake --preset dev -DLLMPROF_BUILD_TESTS=OFF
    cmake --build --preset dev
TXT
  exit 3
}

# need KIND...: install what is missing
need() {
  command -v dpkg-query >/dev/null || return 0 # configuring will tell
  local -a names
  mapfile -t names < <(missing "$@")
  ((${#names[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here"
    give_up "${names[@]}"
  elif ((EUID != 0)) && ! command -v sudo >/dev/null; then
    say "not root, and no sudo here"
    give_up "${names[@]}"
  fi
  say "installing ${names[*]}"
  quietly apt_install "${names[@]}" || give_up "${names[@]}"
}

# ---- what the Python index has ----

# A Python environment in build/python.
python_environment() {
  local tools=$root/build/python
  [[ -x $tools/bin/pip ]] || python3 -m venv "$tools" >"$log" 2>&1
}

# lacks_headers TREE: did CMake look for the collector's headers in vain?
lacks_headers() {
  grep -qE '^(CUPTI_INCLUDE_DIR|CUPTI_CUDA_INCLUDE_DIR|NVTX3_INCLUDE_DIR):.*-NOTFOUND$' \
    "$1/CMakeCache.txt"
}

# The collector's headers, as third_party/headers.txt pins them, into build/headers. False,
# in one line, where they cannot be had; ./bootstrap.sh build tries that again.
fetch_headers() {
  local headers=$root/build/headers list=$root/third_party/headers.txt
  local -a names
  [[ ! -e $headers/failed ]] || return 1
  say "no headers of CUPTI here: fetching them from the Python index"
  rm -rf -- "$headers"
  mkdir -p -- "$headers"
  mapfile -t names < <(packages headers)
  if { python_environment || { apt_install "${names[@]}" >"$log" 2>&1 && python_environment; }; } &&
    "$root/build/python/bin/pip" install -q --disable-pip-version-check --retries 1 --no-deps \
      --require-hashes --only-binary :all: --target "$headers" -r "$list" >"$log" 2>&1; then
    rm -rf -- "$headers"/nvidia/*/lib
  else
    touch -- "$headers/failed"
    say "they cannot be had (build/headers/log.txt): built without llmprof's own collector"
    cp -- "$log" "$headers/log.txt"
    return 1
  fi
}

# The tests' tools that are no Debian packages (third_party/python.txt), in
# build/python; the tests that need them are skipped where that fails.
need_python_tools() {
  local tools=$root/build/python list=$root/third_party/python.txt
  [[ ! $tools/done -nt $list ]] || return 0
  say "installing Python tools"
  if python_environment &&
    quietly "$tools/bin/pip" install -q -r "$list"; then
    touch -- "$tools/done"
  else
    say "no Python tools: their tests are skipped"
  fi
}

# ---- building ----

# Ninja's status lines become one line on a terminal, and nothing elsewhere;
# warnings and errors pass.
progress() {
  local line clear='' begun=''
  [[ ! -t 2 ]] || clear=$'\r\033[K'
  while IFS= read -r line; do
    case $line in
    'ninja: no work to do.') ;;
    '['*'] Re-checking globbed directories...' | '-- '*) ;;
    '['*/*']'*)
      [[ $begun ]] || say "building $1"
      begun=yes
      [[ ! $clear ]] || printf '%s%.72s' "$clear" "$line" >&2
      ;;
    *) printf '%s%s\n' "$clear" "$line" >&2 ;;
    esac
  done
  printf '%s' "$clear" >&2
}

# mine FOLDER: end where it belongs to somebody else, who built here before.
mine() {
  if [[ -e $1/.lock && ! -w $1/.lock ]] || [[ ! -w $1 ]]; then
    say "$1 belongs to $(stat -c %U "$1" 2>/dev/null || echo another user), and you may not write there"
    say "build in a checkout of your own: git clone $root"
    exit 1
  fi
}

# build PRESET TARGET [OPTION...]: configure once, with cmake's options, and
# build; one process at a time.
build() {
  local preset=$1 target=$2 tree=$root/build/$1 lock
  local -a kinds=(build) names
  [[ $preset == dev ]] || kinds+=(test)
  mine "$root/build"
  exec {lock}>"$root/build/.lock"
  flock "$lock"
  if [[ ! $tree/build.ninja -nt $root/CMakePresets.json ]]; then
    quietly cmake -S "$root" --preset "$preset" "${@:3}" || {
      mapfile -t names < <(packages "${kinds[@]}")
      command -v dpkg-query >/dev/null || give_up "${names[@]}"
      say "configuring $preset failed"
      exit 1
    }
    if lacks_headers "$tree" && fetch_headers; then
      quietly cmake "$tree"
    fi
  fi
  cmake --build "$tree" --target "$target" 2>&1 | progress "$preset" || {
    say "building $preset failed"
    exit 1
  }
  exec {lock}>&-
}

# ---- commands ----

build_program() {
  local -a options=()
  need build
  [[ -z $(missing test) ]] || options=(-DLLMPROF_BUILD_TESTS=OFF)
  build dev programs "${options[@]}"
}

run_program() {
  build_program
  # what ships is found from any folder
  LLMPROF_HOME=${LLMPROF_HOME:-$root} exec "$root/build/dev/bin/llmprof" "$@"
}

# Half as many again as there are processors: many tests wait for programs.
run_tests() {
  local preset failed='' jobs=$(($(nproc) * 3 / 2))
  need build test
  need_python_tools
  for preset in ci asan tsan; do
    if [[ $preset == tsan ]]; then build tsan threaded_tests; else build "$preset" all; fi
    (cd -- "$root" && ctest --preset "$preset" -j "$jobs") ||
      failed+=" $preset"
  done
  [[ ! $failed ]] || {
    say "tests failed in:$failed"
    exit 1
  }
}

main() {
  local command=${1:-build}
  shift $(($# > 0))
  mkdir -p -- "$root/build"
  case $command:$# in
  build:0)
    if [[ -e $root/build/headers/failed ]]; then # is there a network now?
      rm -rf -- "$root/build/headers" "$root/build/dev/build.ninja"
    fi
    build_program
    ;;
  run:*) run_program "$@" ;;
  test:0) run_tests ;;
  help:0 | -h:0 | --help:0) usage ;;
  *)
    usage >&2
    exit 2
    ;;
  esac
}

main "$@"
