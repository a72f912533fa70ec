#!/usr/bin/env bash
# abi_found.sh CC: does lint.abi notice a member and an argument of another type, a place that
# moved and a value of an enum, and nothing else? Skipped (77) without abidw.
set -euo pipefail
cc=$1 lint=$PWD/tests/lint/abi.py
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

if ! command -v abidw >/dev/null; then
  echo "skipped: no abidw"
  exit 77
fi

# library SED: of a header so changed
library() {
  mkdir -p -- "$folder/include/llmprof" "$folder/core"
  sed "$1" >"$folder/include/llmprof/one.h" <<'C'
typedef enum llmprof_kind { LLMPROF_A, LLMPROF_B } llmprof_kind;
typedef struct llmprof_one { int first; long second; llmprof_kind kind; } llmprof_one;
llmprof_one *llmprof_make(int count, const char *name);
C
  printf '%s\n' '#include "llmprof/one.h"' \
    "$(grep -o 'llmprof_one \*llmprof_make(.*)' "$folder/include/llmprof/one.h") { return 0; }" |
    "$cc" -g -shared -fPIC -I "$folder/include" -x c - -o "$folder/lib.so"
}

# says LINE...: what is told of the library, of lines that changed
says() {
  local said
  said=$(cd -- "$folder" && { "$lint" lib.so || true; } | sed -n '/^[-+] *[A-Za-z0-9]/p')
  [[ $said == "$(printf '%s\n' "$@")" ]] || {
    printf 'expected:\n%s\ngot:\n%s\n' "$(printf '%s\n' "$@")" "$said"
    exit 1
  }
}

library ''
(cd -- "$folder" && "$lint" lib.so --update)
says ''
library 's/int first/short first/'
says '-  0 first: int' '+  0 first: short int'
library 's/int count/long count/'
says '-llmprof_make(int, char const*) -> llmprof_one*' \
  '+llmprof_make(long int, char const*) -> llmprof_one*'
library 's/int first;\(.*\) llmprof_kind kind;/llmprof_kind kind;\1 int first;/'
says '-  0 first: int' '+  0 kind: llmprof_kind' '-  16 kind: llmprof_kind' '+  16 first: int'
library 's/LLMPROF_A, /LLMPROF_A = 4, /'
says '-  LLMPROF_A = 0' '-  LLMPROF_B = 1' '+  LLMPROF_A = 4' '+  LLMPROF_B = 5'
