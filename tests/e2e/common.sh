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

# same WHAT EXPECTED GOT
same() {
  [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}
