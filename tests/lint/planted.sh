#!/usr/bin/env bash
# Do lint.layers and lint.layout find what is planted in a copy of the tree, and complain when they
# find no files? usage: planted.sh LLMPROF
set -euo pipefail
llmprof=$(realpath -- "$1") lints=$PWD/tests/lint
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT


mkdir -p -- "$folder/copy/tests/lint"
cp -r -- core lua docs conf "$folder/copy"
cp -- tests/lint/finding.md "$folder/copy/tests/lint"


# lint NAME says LINE first.
expect() {
  local name=$1 wanted=$2 said
  if said=$(cd -- "$folder/copy" && "$llmprof" exec "$lints/$name.lua" 2>&1); then
    echo "lint.$name did not find: $wanted"
    exit 1
  fi
  [[ ${said%%$'\n'*} == "$wanted" ]] || {
    printf 'lint.%s, expected: %s\ngot: %s\n' "$name" "$wanted" "$said"
    exit 1
  }
}


# planted NAME FILE LINE WHAT: with LINE at the end of FILE, lint NAME says WHAT of it.
planted() {
  local name=$1 file=$2 line=$3 what=$4 number
  echo "$line" >>"$folder/copy/$file"
  number=$(wc -l <"$folder/copy/$file")
  expect "$name" "./$file:$number: $what"
  cp -- "$file" "$folder/copy/$file"
}


planted layers core/base/buffer.c '#include "llmprof/trace.h"' \
  "llmprof/trace.h: 'base' may not use 'trace'"
planted layers core/text/path.c '#include <lua.h>' "only core/lua includes Lua's headers"
for word in require lazy; do
  planted layers lua/llmprof/io/files.lua "local up = $word \"llmprof.analysis.stages.find\"" \
    "llmprof.analysis.stages.find: 'io' may not use 'analysis'"
done
planted layout lua/llmprof/cli/commands.lua 'local trace = folder .. "/nsys/run.sqlite"' \
  "'nsys/run.sqlite' is for bundle/layout.lua"

sed -i 's/^May use: nothing\.$/May use: nowhere./' "$folder/copy/core/base/README.md"
expect layers "./core/base/README.md: may use 'nowhere', which is no module"
cp -- core/base/README.md "$folder/copy/core/base/README.md"

sed -i 's/^Main parts: /&artifacts, /' "$folder/copy/lua/llmprof/run/README.md"
expect layers "./lua/llmprof/run/README.md: no main part 'artifacts'"
cp -- lua/llmprof/run/README.md "$folder/copy/lua/llmprof/run/README.md"

sed -i 's|advice/rank_late|advice/late_rank|' "$folder/copy/tests/lint/finding.md"
expect layers "./tests/lint/finding.md: no lua/llmprof/advice/late_rank.lua"
cp -- tests/lint/finding.md "$folder/copy/tests/lint/finding.md"

sed -i '/^May use:/d' "$folder/copy/lua/llmprof/engines/README.md"
expect layers "./lua/llmprof/engines/README.md: no line 'May use: ...'"
cp -- lua/llmprof/engines/README.md "$folder/copy/lua/llmprof/engines/README.md"

find "$folder/copy" -name '*.[ch]' -delete
find "$folder/copy/lua/llmprof" -mindepth 2 -name '*.lua' -delete
expect layers '.: no file of a module found'
