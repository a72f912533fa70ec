#!/usr/bin/env bash
# Is every Python file clean by ruff and by mypy? Those of build/python (made by
# ./bootstrap.sh test) or of the PATH; skipped (77) where one is missing.
set -euo pipefail
cd "$(dirname -- "$0")/../.."
PATH=$PWD/build/python/bin:$PATH

for tool in ruff mypy; do
  command -v "$tool" >/dev/null || {
    echo "skipped: no $tool"
    exit 77
  }
done

ruff check --no-cache --quiet --line-length 100 --select E,F,W,B \
  --ignore B905 --target-version py39 recipes tests core packaging

# One folder at a time: programs of different folders may share a name.
cache=$(mktemp -d)
trap 'rm -rf -- "$cache"' EXIT
find recipes tests core packaging -name '*.py' -printf '%h\n' | sort -u | while read -r folder; do
  mypy --cache-dir "$cache" --ignore-missing-imports --no-error-summary "$folder"/*.py
done
