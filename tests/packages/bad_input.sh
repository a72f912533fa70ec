#!/usr/bin/env bash
# bad_input.sh: what packaging/ says, in one line, where it cannot do what it is asked.
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/../e2e/common.sh"

tools=$scratch/tools
mkdir -- "$tools"
export LLMPROF_PACKAGING=$scratch/work

# stand_in NAME LINE: a program of the PATH
stand_in() {
  printf '#!/bin/sh\n%s\n' "$2" >"$tools/$1"
  chmod +x -- "$tools/$1"
}

# says STATUS PATTERN COMMAND...: it fails so, and its last line is the only one that is no
# "fetching ..."
says() {
  local status=0 said
  said=$(PATH=$tools:$PATH "${@:3}" 2>&1) || status=$?
  same "status of ${*:3}" "$1" "$status"
  said=$(grep -v '^packaging: fetching [a-z ]' <<<"$said" || true)
  # shellcheck disable=SC2053 # a pattern
  [[ $said == $2 && $said != *$'\n'* ]] || fail "${*:3}: '$said' is not '$2'"
}

# What packages are made with may not be here, and is not come to.
while IFS='=' read -r tool _; do
  command -v "$tool" >/dev/null || stand_in "$tool" 'exit 1'
done < <(grep -hE '^ *need ' packaging/*.sh | grep -oE '[a-z0-9-]+=[a-z0-9-]+')

for script in deb sources tarball try wheel; do
  [[ $("packaging/$script.sh" --help) == "$script.sh"* ]] || fail "packaging/$script.sh --help"
done
says 2 'packaging: mips: not an architecture *' packaging/wheel.sh x86_64 mips
says 2 'packaging: sources.sh takes no arguments' packaging/sources.sh x86_64
says 3 'packaging: /none: does not start' env ZIG=/none packaging/deb.sh

stand_in zig 'echo 0.11.0'
says 3 'packaging: zig 0.11.0 is too old: *' env ZIG=zig packaging/tarball.sh x86_64

stand_in zig 'echo 99.0.0'
stand_in apt-get 'echo "E: You must put some deb-src URIs in your sources.list"; exit 100'
says 1 'packaging: apt-get update failed: E: You must put *; is there a network?' \
  env ZIG=zig packaging/deb.sh x86_64

stand_in apt-get 'echo "cannot write: No space left on device"; exit 100'
says 1 'packaging: apt-get update failed: no space left in *' env ZIG=zig packaging/deb.sh x86_64

stand_in python3 'echo "ERROR: Could not find a version that satisfies"; exit 1'
says 1 'packaging: making a Python environment failed: ERROR: *' packaging/wheel.sh x86_64

touch -- "$scratch/file"
says 1 'packaging: *cannot be written*' env LLMPROF_PACKAGING="$scratch/file" ZIG=zig \
  packaging/deb.sh x86_64
