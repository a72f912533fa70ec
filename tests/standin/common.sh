# shellcheck shell=bash
# What the stand-in tools share; sourced. Every call is written down, a word a
# line, in $STANDIN_LOG/<number>.<tool>; numbers follow the order of the calls.
set -u

# shellcheck disable=SC2034 # the tools use it
fixtures=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../fixtures

# record TOOL WORD...
record() {
  local number=1
  while [[ -e $(printf '%s/%02d' "$STANDIN_LOG" "$number") ]]; do
    number=$((number + 1))
  done
  local stem
  stem=$(printf '%s/%02d' "$STANDIN_LOG" "$number")
  : >"$stem"
  printf '%s\n' "$@" >"$stem.${1##*/}"
}
