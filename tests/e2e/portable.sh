#!/usr/bin/env bash
# portable.sh BUILD VERSION: does the portable folder run alone after a move?
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/common.sh"
build=$1 version=$2 folder="$scratch/elsewhere"

cmake --build "$build" --target portable >/dev/null
cp -r -- "$build/portable/llmprof" "$folder"

same version "llmprof $version" \
  "$(cd / && env -i "$folder/llmprof" --version)"

runs "$folder/llmprof"

# Every library comes from the folder, save the C library's own.
strangers=$(LD_TRACE_LOADED_OBJECTS=1 "$folder/llmprof" |
  grep -vF "$folder/lib/" |
  grep -vE '^\s*(linux-vdso|lib(c|m|dl|pthread|rt|resolv)\.so|/lib)' || true)
same 'libraries from outside' '' "$strangers"

# The collector comes along where it was built.
[[ ! -f $build/lib/libllmprof_collector.so || -f $folder/libllmprof_collector.so ]] ||
  fail "no collector beside the program"

for library in "$folder"/lib/*; do
  [[ -f $library && ! -L $library ]] || fail "$library is not a plain file"
done
compgen -G "$folder/share/doc/llmprof/third_party/*.txt" >/dev/null ||
  fail "no licences of the libraries"
