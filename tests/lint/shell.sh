#!/usr/bin/env bash
# Is every shell script clean by shellcheck? Skipped (77) where there is none.
set -euo pipefail

if ! command -v shellcheck >/dev/null; then
  echo "skipped: no shellcheck"
  exit 77
fi
find bootstrap.sh .ci/run completions packaging tests -type f \
  \( -name '*.sh' -o -name '*.bash' -o -path .ci/run -o -path 'tests/standin/*' ! -name '*.lua' \) \
  -print0 | xargs -0 shellcheck -x
