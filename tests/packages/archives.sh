#!/usr/bin/env bash
# archives.sh BUILD VERSION: are the Debian package and the archive that cpack makes of this
# build whole, and does what is in them run?
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/../e2e/common.sh"
build=$1 version=$2

# holds FOLDER FILE...
holds() {
  local file
  for file in "${@:2}"; do
    [[ -s $1/$file ]] || fail "no $file in ${1##*/}"
  done
}

# pack GENERATOR
pack() {
  if ! cpack --config "$build/CPackConfig.cmake" -G "$1" -B "$scratch/$1" >"$scratch/log" 2>&1; then
    cat -- "$scratch/log" >&2
    fail "cpack -G $1"
  fi
  (cd -- "$scratch/$1" && sha256sum --quiet -c -- *.sha256) || fail "the checksum of $1"
}

# listed DOCS: is the list of what is inside valid, and has each part its licence?
listed() {
  local spdx=$1/llmprof.spdx.json name
  holds "$1" llmprof.spdx.json
  while read -r name; do
    holds "$1" "third_party/$name.txt"
  done < <(python3 -c 'import json, sys
for part in json.load(open(sys.argv[1]))["packages"][1:]: print(part["name"])' "$spdx")
  if [[ -x build/python/bin/pyspdxtools ]]; then
    build/python/bin/pyspdxtools -i "$spdx" || fail "$spdx is not valid"
  else
    echo "no pyspdxtools: whether the list is valid SPDX is left out"
  fi
}

# Of a build that found no headers of NVTX.
mkdir -- "$scratch/found"
sed 's/^nvtx=.*/nvtx=NVTX3_INCLUDE_DIR-NOTFOUND/' "$build/inside.txt" >"$scratch/found/inside.txt"
python3 packaging/notices.py "$scratch/found" "$scratch/found/docs"
listed "$scratch/found/docs"
[[ ! -e $scratch/found/docs/third_party/NVTX.txt ]] || fail "NVTX is listed"

collector=()
[[ ! -f $build/lib/libllmprof_collector.so ]] || collector=(lib/llmprof/libllmprof_collector.so)

pack TGZ
mkdir -- "$scratch/archive"
tar -C "$scratch/archive" --strip-components=1 -xzf "$scratch"/TGZ/*.tar.gz
holds "$scratch/archive" bin/llmprof share/man/man1/llmprof.1 share/doc/llmprof/LICENSE \
  share/llmprof/recipes/deepseek_ocr.lua "${collector[@]}"
[[ ! -e $scratch/archive/include ]] || fail "the archive has headers"
same version "llmprof $version" "$("$scratch/archive/bin/llmprof" --version)"
runs "$scratch/archive/bin/llmprof"

if ! command -v dpkg-shlibdeps >/dev/null; then
  echo "no dpkg-dev: the Debian package is left out"
  exit 0
fi
pack DEB
dpkg-deb -x "$scratch"/DEB/*.deb "$scratch/deb"
holds "$scratch/deb/usr" bin/llmprof share/man/man1/llmprof.1.gz share/doc/llmprof/copyright \
  share/doc/llmprof/changelog.Debian.gz share/zsh/vendor-completions/_llmprof "${collector[@]}"
listed "$scratch/deb/usr/share/doc/llmprof"
same 'package and version' "llmprof $version-1" \
  "$(dpkg-deb -f "$scratch"/DEB/*.deb Package Version | sed 's/.*: //' | paste -sd' ')"
[[ $(dpkg-deb -f "$scratch"/DEB/*.deb Depends) == *libc6* ]] || fail "no dependencies"
rm -rf -- "$scratch/bundle"
runs "$scratch/deb/usr/bin/llmprof"
