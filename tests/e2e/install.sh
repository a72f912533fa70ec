#!/usr/bin/env bash
# install.sh BUILD VERSION: is an installed llmprof whole, and does it run?
# shellcheck source=tests/e2e/common.sh
source "$(dirname -- "$0")/common.sh"
build=$1 version=$2 prefix=$scratch/prefix

cmake --install "$build" --prefix "$prefix" >/dev/null

same version "llmprof $version" "$(cd / && "$prefix/bin/llmprof" --version)"
runs "$prefix/bin/llmprof"
python3 - recipes/recorded/deepseek_ocr "$scratch"/cache/llmprof/captures/deepseek_ocr-* <<'PY' ||
import filecmp, pathlib, sqlite3, sys
there, unpacked = map(pathlib.Path, sys.argv[1:])
def rows(path):
    database = sqlite3.connect(path)
    made = database.execute("select type, name, sql from sqlite_master order by name").fetchall()
    return made, [database.execute(f'select * from "{name}"').fetchall()
                  for kind, name, _ in made if kind == "table"]

names = sorted(p.relative_to(there) for p in there.rglob("*") if p.is_file())
assert names == sorted(p.relative_to(unpacked) for p in unpacked.rglob("*") if p.is_file())
for name in names:
    one, other = there / name, unpacked / name
    assert filecmp.cmp(one, other, shallow=False) or rows(one) == rows(other), name
PY
  fail "the recorded capture that is built in is not that of the source tree"
for folder in lua recipes conf; do
  [[ ! -d $folder ]] || diff -r -x __pycache__ -x recorded "$folder" "$prefix/share/llmprof/$folder" ||
    fail "share/llmprof/$folder is not what the source tree has"
done
# what the manual links to, itself included, save the source tree's own files
while read -r link; do
  [[ -e $prefix/share/doc/llmprof/docs/$link ]] || fail "docs link to $link"
done < <(sed -nE 's/.*\]\(([a-z_.]+)\).*/\1/p' docs/*.md)
# what the README links to
while read -r link; do
  [[ -e $prefix/share/doc/llmprof/$link ]] || fail "README.md links to $link"
done < <(sed -nE 's/\]\(([A-Za-z_/.]+)\)/\n=\1\n/gp' README.md | sed -n 's/^=//p')
for file in share/doc/llmprof/{LICENSE,README.md} share/man/man1/llmprof.1 \
  share/bash-completion/completions/llmprof share/zsh/site-functions/_llmprof \
  share/fish/vendor_completions.d/llmprof.fish; do
  [[ -s $prefix/$file ]] || fail "no $file"
done
