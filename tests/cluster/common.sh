# shellcheck shell=bash
# shellcheck disable=SC2154
# What the tests of clusters share; sourced with $llmprof set.
# A sanitizer's leaks are MPI's own here.
export ASAN_OPTIONS=detect_leaks=0

FILES=tests/fixtures/ranks4
work=$(mktemp -d)
trap 'cleanup' EXIT
mkdir "$work/empty"

# shellcheck disable=SC2317 # by the trap, and redefined by who has more to do
cleanup() { rm -rf -- "$work"; }

skip() {
  echo "skipped: $*"
  exit 77
}

fail() {
  echo "FAILED: $*" >&2
  tail -n +1 "$work"/*.err "$work/launcher" >&2 2>/dev/null || true
  exit 1
}

# uneven FOLDER: three of the four ranks, of which one was seen from later on and one has no steps.
uneven() {
  mkdir "$1"
  cp "$FILES"/rank[013].sqlite "$1"
  python3 - "$1" <<'EOF'
import sqlite3
import sys

def change(rank, *statements):
    with sqlite3.connect(f"{sys.argv[1]}/rank{rank}.sqlite") as database:
        for statement in statements:
            database.execute(statement)
    database.close()

change(1, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start < (SELECT min(start) + 40000000 "
          "FROM CUPTI_ACTIVITY_KIND_KERNEL)")
change(3, "DELETE FROM NVTX_EVENTS")
EOF
}

# What one process makes: $work/0/out, and what it prints.
one_process() {
  rm -rf "$work/0"
  "$llmprof" ranks "$FILES" --out "$work/0/out" >"$work/0.txt"
  "$llmprof" ranks "$FILES" >"$work/one.txt"
}

# same NAME: what the processes of a job made is what one makes, but for the command and
# the time in its manifest.
same() {
  diff -r -x manifest.json "$work/0" "$work/$1" >"$work/launcher" || fail "$1: other bytes"
  cmp -s "$work/0.txt" "$work/$1.txt" || fail "$1: prints something else"
}

# survivors RANK...: each ended with one line and exit status 1. Open MPI may add some of its own,
# which begin with "[HOST", of its network or of the process that was killed.
survivors() {
  local rank
  for rank in "$@"; do
    [[ $(cat "$work/each.$rank.status") == 1 ]] ||
      fail "process $rank: exit status $(cat "$work/each.$rank.status")"
    [[ $(grep -cv '^\[' "$work/each.$rank.err") == 1 ]] ||
      fail "process $rank: not one line"
    grep -q "^llmprof: process $rank of .*; nothing was written$" "$work/each.$rank.err" ||
      fail "process $rank: $(cat "$work/each.$rank.err")"
  done
}
