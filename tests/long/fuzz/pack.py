#!/usr/bin/env python3
"""What fuzzing needs on another machine, in one file: pack.py FOLDER.

Takes the programs of build/fuzz, build/fuzz-slow and build/fuzz-fast as
`run.py --without-sanitizers` builds them, without their debug information, the libraries
that they need beside the C library, dictionaries, corpora, scripts and what these read.
FOLDER gets `kit.tar.xz`, the script `go.sh` that unpacks and runs it (see away.py) and,
under `programs`, the programs as they were built, by which the stacks of a finding are
read. The other machine needs a C library no older, python3 and xz.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import List, Set

from run import FAST, ROOT, SLOW, is_slow, program, targets

# What the scripts and targets name beside what is built in; run.py is what away.py uses.
READ = ("tests/fuzz/lua", "tests/fuzz/corpus", "tests/fixtures/export.sql",
        "tests/fixtures/small", "tests/fixtures/compare/graph",
        "tests/fixtures/compare/eager/config.yaml", "tests/fixtures/model",
        "tests/fixtures/ncu", "tests/fixtures/two_gpus", "tests/fixtures/nccl2",
        "tests/fixtures/deepseek_ocr", "tests/long/fuzz", "tests/fuzz/README.md", "recipes",
        "conf")

# Every Linux has these, and they have to be those of its loader.
EVERYWHERE = ("libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux",
              "linux-vdso")

GO = """#!/bin/sh
# Fuzz all targets: go.sh SECONDS JOBS OUT; see tests/long/fuzz/away.py.
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /tmp/fz && cd /tmp/fz || exit 1
if ! cmp -s "$here/kit.tar.xz" kit.tar.xz; then
  rm -rf kit && mkdir kit && tar -xJf "$here/kit.tar.xz" -C kit &&
    cp "$here/kit.tar.xz" kit.tar.xz || exit 1
fi
case $3 in /*) out=$3 ;; *) out=$OLDPWD/$3 ;; esac
exec python3 kit/tests/long/fuzz/away.py --state /tmp/fz "$1" "$2" "$out"
"""


def programs() -> List[Path]:
    sound = {program(name, SLOW) for name in targets()}
    return sorted(sound | {program(name, FAST) for name in targets() if is_slow(name)})


def libraries(paths: List[Path]) -> Set[Path]:
    found = set()
    for path in paths:
        said = subprocess.run(["ldd", str(path)], check=True, capture_output=True, text=True)
        for name, where in re.findall(r"(\S+) => (/\S+)", said.stdout):
            if not name.startswith(EVERYWHERE):
                found.add(Path(where))
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    shutil.rmtree(folder / "programs", ignore_errors=True)
    paths = programs()
    for path in paths:
        whole = folder / "programs" / path.relative_to(ROOT)
        whole.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, whole)
    with tempfile.TemporaryDirectory() as scratch, \
            tarfile.open(folder / "kit.tar.xz", "w:xz", preset=6) as kit:
        for path in paths:
            small = Path(scratch) / "program"
            subprocess.run(["strip", "-g", "-o", str(small), str(path)], check=True)
            kit.add(small, path.relative_to(ROOT))
        for path in sorted(libraries(paths)):
            kit.add(path.resolve(), f"lib/{path.name}")
        for name in READ:
            kit.add(ROOT / name, name)
        for path in sorted((ROOT / "tests/fuzz").glob("*")):
            if path.suffix in (".c", ".dict"):
                kit.add(path, path.relative_to(ROOT))
    (folder / "go.sh").write_text(GO, encoding="utf-8")
    (folder / "go.sh").chmod(0o755)
    print(f"{folder}/kit.tar.xz: {(folder / 'kit.tar.xz').stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
