#!/usr/bin/env bash
# Does lint.circles find a circle, and complain when it finds no objects?
# usage: circles_found.sh LLMPROF CC NM
set -euo pipefail
llmprof=$1 cc=$2 nm=$3
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

expect() {
  local wanted=$1 said
  if said=$("$llmprof" exec tests/lint/circles.lua "$nm" "$folder" 2>&1); then
    echo "not found: $wanted"
    exit 1
  fi
  [[ $said == "$wanted" ]] || {
    printf 'expected: %s\ngot:      %s\n' "$wanted" "$said"
    exit 1
  }
}

expect "$folder: no object file found"
room=$folder/core/text/CMakeFiles/llmprof_text.dir
mkdir -p -- "$room"
for pair in 'a b' 'b c' 'c a'; do
  read -r this next <<<"$pair"
  printf 'int %s(void);\nint %s(void);\nint %s(void) { return %s(); }\n' \
    "$this" "$next" "$this" "$next" >"$folder/$this.c"
  "$cc" -c -o "$room/$this.c.o" "$folder/$this.c"
done
expect "a circle: text/a -> text/b (b) -> text/c (c) -> text/a (a)"
