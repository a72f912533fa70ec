# shellcheck shell=bash
# What the end-to-end tests share; sourced. Leaves a scratch folder, with a
# space in its name, in $scratch; it is removed at exit.
set -euo pipefail

scratch=$(mktemp -d "${TMPDIR:-/tmp}/llmprof e2e.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# runs LLMPROF: does the program do its main job away from the source tree?
runs() {
  (cd -- "$scratch" && env -u LLMPROF_HOME XDG_CACHE_HOME="$scratch/cache" "$1" \
    recipes/deepseek_ocr.lua capture=recorded out=bundle --quiet) || fail "$1 does not run the recipe"
  [[ -s $scratch/bundle/report.md ]] || fail "no report.md"
}

# same WHAT EXPECTED GOT
same() {
  [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}
