#!/usr/bin/env bash
# Is every script clean by eslint (.eslintrc.json)? Skipped (77) where there is none.
set -euo pipefail

if ! command -v eslint >/dev/null; then
  echo "skipped: no eslint"
  exit 77
fi
# Debian's lies where only Debian's Node looks.
NODE_PATH=/usr/share/nodejs eslint --format unix --ext js lua tests
