#!/usr/bin/env python3
"""The collector in programs that close, cover and reuse descriptors at random moments:
descriptors.py BUILD [--runs N].

Each run is `collector_closer random` with another seed, every third one killed on its
way. A finding is a file of the program with a byte in it that the program did not write, a
socket that got something, a program that ends otherwise than it would, and a recording that
cannot be read.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

LINE = b"MINE\n"
ENDED = 4


def start(build: Path, folder: Path, seed: int) -> "subprocess.Popen[bytes]":
    for name in ("spools", "own"):
        (folder / name).mkdir()
    words = [str(build / "tests/collector/collector_closer"), "random",
             str(folder / "own"), str(seed)]
    env = dict(os.environ, LLMPROF_COLLECTOR_DIR=str(folder / "spools"),
               NVTX_INJECTION64_PATH=str(build / "lib/libllmprof_collector.so"))
    return subprocess.Popen(words, env=env, stdout=subprocess.PIPE)


def foreign(folder: Path) -> List[str]:
    return [f"{path.name} holds {path.read_bytes()[:64]!r}"
            for path in (folder / "own").iterdir()
            if path.read_bytes().replace(LINE, b"")]


def unreadable(build: Path, folder: Path) -> List[str]:
    found = []
    for path in (folder / "spools").glob("*.spool"):
        read = subprocess.run([build / "bin/llmprof", "stats", path, "-r", "nvtx_sum"],
                              capture_output=True, check=False)
        if path.stat().st_size and read.returncode:
            found.append(f"{path.name}: {read.stderr.decode().strip()}")
    return found


def one(build: Path, seed: int) -> List[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = start(build, folder, seed)
        killed = seed % 3 == 0
        if killed:
            try:
                program.wait(random.Random(seed).random() * 0.5)
            except subprocess.TimeoutExpired:
                program.kill()
        said = program.communicate(timeout=60)[0]
        found = foreign(folder) + unreadable(build, folder)
        if not killed and (said, program.returncode) != (b"done\n", ENDED):
            found.append(f"ended with {program.returncode}: {said.decode().strip()}")
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    findings = 0
    for seed in range(1, given.runs + 1):
        for line in one(given.build.resolve(), seed):
            findings += 1
            print(f"seed {seed}: {line}")
    print(f"{given.runs} runs, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
