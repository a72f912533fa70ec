#!/bin/sh
# Make docs/page.png, the picture of the page in README.md: docs/picture.sh LLMPROF.
# Needs chromium and pngquant.
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$program" recipes/deepseek_ocr.lua capture=recorded run.id=page run.root="$folder" -q
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,900 \
  --virtual-time-budget=8000 --screenshot="$folder/page.png" \
  "file://$folder/page/report.html" >/dev/null 2>&1
pngquant --force --speed 1 --output docs/page.png 60 "$folder/page.png"
