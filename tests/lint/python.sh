#!/usr/bin/env bash
# Is every Python file clean by ruff, or by pyflakes? Skipped (77) where there is
# neither. LLMPROF_RUFF names a ruff that is not on the PATH.
set -euo pipefail

ruff=${LLMPROF_RUFF:-ruff}
if command -v "$ruff" >/dev/null; then
  "$ruff" check --no-cache --quiet --line-length 100 --select E,F,W,B \
    --ignore B905 --target-version py39 recipes tests core
elif command -v pyflakes3 >/dev/null; then
  find recipes tests core -name '*.py' -print0 | xargs -0 pyflakes3
else
  echo "skipped: no ruff, no pyflakes3"
  exit 77
fi
