#!/usr/bin/env bash
# wheel.sh BUILD VERSION: is a wheel of this build installed, started, renewed and removed as
# wheels are? Skipped (77) without pip. Where packaging/wheel.sh has been run before, its
# wheel is made anew, and auditwheel asked.
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/../e2e/common.sh"
build=$1 version=$2 arch=$(uname -m) floor=$(getconf GNU_LIBC_VERSION)
stage=$scratch/stage venv=$scratch/venv

if ! python3 -m venv "$venv" >/dev/null 2>&1; then
  echo "skipped: no python3 with venv and pip"
  exit 77
fi

for component in runtime data; do
  cmake --install "$build" --prefix "$stage" --component "$component" --strip >/dev/null
done
python3 packaging/notices.py "$build" "$stage/share/doc/llmprof"
wheel=$(python3 packaging/wheel.py "$stage" "$scratch" "$arch" "${floor#glibc }")
same 'name of the wheel' "llmprof_gpu-$version-py3-none-manylinux_2_${floor#glibc 2.}_$arch.whl" \
  "${wheel##*/}"

# The one to hand on has the libraries as well: a million bytes at most.
largest=$(sed -nE 's/^LARGEST=([0-9]+).*/\1/p' packaging/wheel.sh)
(($(stat -c %s -- "$wheel") + 1000000 <= largest)) || fail "the wheel has $(stat -c %s -- "$wheel") bytes"

pip() { "$venv/bin/pip" -q --disable-pip-version-check "$@"; }
pip install --no-index "$wheel"
for name in llmprof llmprof-gpu; do
  same "$name" "llmprof $version" "$("$venv/bin/$name" --version)"
done
same 'what llmprof-gpu is' ELF "$(head -c 4 "$venv/bin/llmprof-gpu" | tail -c 3)"
ln -s "$venv/bin/llmprof" "$scratch/link"
same 'by a link' "llmprof $version" "$(env -i PATH="$PATH" "$scratch/link" --version)"
same 'its words' 'a b|c' \
  "$("$venv/bin/llmprof" exec tests/packages/words.lua 'a b' c)"
runs "$venv/bin/llmprof"
[[ ! -f $build/lib/libllmprof_collector.so || -f $venv/lib/llmprof/libllmprof_collector.so ]] ||
  fail "no collector where the program looks for it"
"$venv/bin/python" -m pip check >/dev/null || fail "pip check"
pip install --no-index --force-reinstall "$wheel"
same 'once more' "llmprof $version" "$("$venv/bin/llmprof" --version)"
pip uninstall -y llmprof-gpu
same 'what is left of it' '' "$(find "$venv" -name '*llmprof*' ! -type d)"

if [[ ! -e build/packaging/$arch/prefix/done ]]; then
  echo "packaging/wheel.sh was not run here: a wheel by zig is left out"
  exit 0
fi
packaging/wheel.sh "$arch" || fail "packaging/wheel.sh"
