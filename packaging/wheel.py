#!/usr/bin/env python3
"""wheel.py STAGE OUT ARCHITECTURE FLOOR: a wheel of what was installed under STAGE.

It holds the program itself, not Python that starts it: as llmprof-gpu, and llmprof beside it
is a script of three lines, so that the program is there once and another package's llmprof
cannot take both names. FLOOR is the glibc that it is for. Prints the wheel's path.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pathlib
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = "llmprof_gpu"
DATA = ("lib", "share/llmprof", "share/man", "share/bash-completion", "share/zsh", "share/fish")


class Wheel:
    """Files in the order in which they are added, and the record of them."""

    def __init__(self, path: pathlib.Path) -> None:
        epoch = max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800)
        self.date = time.gmtime(epoch)[:6]
        self.record: list[str] = []
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        info = zipfile.ZipInfo(name, self.date)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
        self.record.append(f"{name},sha256={digest.decode()},{len(data)}")

    def add_tree(self, prefix: str, folder: pathlib.Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.add(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())

    def close(self, info: str) -> None:
        lines = [*self.record, f"{info}/RECORD,,"]
        self.add(f"{info}/RECORD", "".join(f"{line}\n" for line in lines).encode())
        self.zip.close()


def licence(spdx: dict) -> str:
    """Of all that is inside, as one expression."""
    terms = {term for part in spdx["packages"] for term in part["licenseDeclared"].split(" AND ")}
    return " AND ".join(sorted(terms))


def metadata(spdx: dict, version: str, licences: list[str]) -> str:
    return "\n".join(
        [
            "Metadata-Version: 2.4",
            "Name: llmprof-gpu",
            f"Version: {version}",
            "Summary: Profiler of LLM inference on NVIDIA GPUs",
            "Keywords: profiling,LLM,CUDA,GPU,Nsight",
            f"License-Expression: {licence(spdx)}",
            *(f"License-File: {name}" for name in licences),
            "Classifier: Environment :: Console",
            "Classifier: Environment :: GPU :: NVIDIA CUDA",
            "Classifier: Operating System :: POSIX :: Linux",
            "Description-Content-Type: text/markdown",
            "",
            (HERE.parent / "README.md").read_text(),
        ]
    )


def make(stage: pathlib.Path, out: pathlib.Path, architecture: str, floor: str) -> pathlib.Path:
    docs = stage / "share/doc/llmprof"
    spdx = json.loads((docs / "llmprof.spdx.json").read_text())
    version = spdx["packages"][0]["versionInfo"]
    tag = f"py3-none-manylinux_{floor.replace('.', '_')}_{architecture}"
    path = out / f"{NAME}-{version}-{tag}.whl"
    data, info = f"{NAME}-{version}.data", f"{NAME}-{version}.dist-info"
    wheel = Wheel(path)
    wheel.add(f"{data}/scripts/llmprof-gpu", (stage / "bin/llmprof").read_bytes(), 0o755)
    wheel.add(f"{data}/scripts/llmprof", (HERE / "llmprof.sh").read_bytes(), 0o755)
    for folder in DATA:
        wheel.add_tree(f"{data}/data/{folder}", stage / folder)
    notices = sorted((docs / "third_party").glob("*.txt"))
    files = {"LICENSE": docs / "LICENSE", **{f"third_party/{n.name}": n for n in notices}}
    for name, file in files.items():
        wheel.add(f"{info}/licenses/{name}", file.read_bytes())
    wheel.add(f"{info}/sboms/llmprof.spdx.json", (docs / "llmprof.spdx.json").read_bytes())
    wheel.add(f"{info}/METADATA", metadata(spdx, version, list(files)).encode())
    wheel.add(
        f"{info}/WHEEL",
        f"Wheel-Version: 1.0\nGenerator: packaging/wheel.py\nRoot-Is-Purelib: false\n"
        f"Tag: {tag}\n".encode(),
    )
    wheel.close(info)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit("usage: wheel.py STAGE OUT ARCHITECTURE FLOOR")
    print(make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:]))
