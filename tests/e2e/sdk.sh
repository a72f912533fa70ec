#!/usr/bin/env bash
# sdk.sh BUILD CC: does a C program build against the installed core alone?
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/common.sh"
build=$1 cc=$2 prefix=$scratch/prefix

cmake --install "$build" --prefix "$scratch/first" --component dev >/dev/null
mv -- "$scratch/first" "$prefix" # the files do not say where they were put

cat >"$scratch/number.c" <<'C'
#include <llmprof/csv.h>
#include <stdio.h>
int main(void) {
  double number;
  if (llmprof_csv_number("1,234.5", 7, &number) != LLMPROF_NUMBER_OK) return 1;
  printf("%.1f\n", number);
}
C
PKG_CONFIG_PATH=$(dirname -- "$(find "$prefix" -name llmprof-core.pc)")
export PKG_CONFIG_PATH
declare -a flags
eval "flags=($(pkg-config --cflags --libs llmprof-core))" # spaces are escaped
"$cc" "$scratch/number.c" "${flags[@]}" -o "$scratch/number"
same output 1234.5 "$("$scratch/number")"
