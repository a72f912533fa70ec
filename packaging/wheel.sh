#!/usr/bin/env bash
# wheel.sh [ARCHITECTURE...]: wheels in build/packages that need Python to be installed and
# nothing to run; x86_64 and aarch64 unless named.
# shellcheck source=packaging/common.sh
source "$(dirname -- "$0")/common.sh"

LARGEST=8000000 # bytes: what a wheel may have

# wheel ARCHITECTURE
wheel() {
  local arch=$1 made file stage=$work/$1/stage component
  build "$arch"
  rm -rf -- "$stage" "$work/$arch/wheel"
  mkdir -p -- "$work/$arch/wheel"
  for component in runtime data; do
    step "installing $component for $arch" cmake --install "$work/$arch/build" \
      --prefix "$stage" --component "$component"
  done
  step "listing what is inside" python3 "$root/packaging/notices.py" "$work/$arch/build" \
    "$stage/share/doc/llmprof" "$sources"
  step "packing the wheel for $arch" python3 "$root/packaging/wheel.py" "$stage" \
    "$work/$arch/wheel" "$arch" "$floor"
  file=$(echo "$work/$arch/wheel"/*.whl)
  made=$(stat -c %s -- "$file")
  ((made <= LARGEST)) || give_up 1 "the wheel has $made bytes; $LARGEST are allowed"
  check "$file"
  keep "$file"
}

# auditwheel's word that the libraries and symbols it needs are those of its tag
check() {
  local tag=${1##*-none-}
  [[ -x $work/python/bin/auditwheel ]] || fetch_python_tools
  step "auditwheel show" "$work/python/bin/auditwheel" show "$1"
  grep -qF "\"${tag%.whl}\"" "$work/log/auditwheel-show.txt" ||
    give_up 1 "auditwheel: not $tag ($work/log/auditwheel-show.txt)"
}

architectures "$@"
for arch in "${architectures[@]}"; do
  wheel "$arch"
done
