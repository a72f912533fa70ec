#!/usr/bin/env python3
"""Fuzz every target for so many minutes: run.py [--keep] MINUTES [TARGET...].

Builds the preset `fuzz` first. Inputs that cover something new gather in
build/fuzz/tests/fuzz/found/TARGET; --keep adds the smallest set of them that covers as
much to tests/fuzz/corpus/TARGET. The last line of a target says how often it ran, how
many edges it covers and what it found.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/fuzz/tests/fuzz"
CORPUS = ROOT / "tests/fuzz/corpus"

# Inputs that are kept are no longer, in bytes.
LONGEST = 2048


def targets() -> List[str]:
    return sorted(path.stem[len("fuzz_"):] for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))


def build(names: List[str]) -> None:
    subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "fuzz", "--target",
                    *[f"fuzz_{name}" for name in names]], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)


def last_number(pattern: str, text: str) -> str:
    found = re.findall(pattern, text)
    return found[-1] if found else "?"


def fuzz(name: str, minutes: float) -> bool:
    """Whether the target ran so long and found nothing."""
    found = BUILD / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    argv = [str(BUILD / f"fuzz_{name}"), f"-max_total_time={int(minutes * 60)}", "-max_len=4096",
            "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1",
            f"-artifact_prefix={found}/", str(found), str(CORPUS / name)]
    dictionary = ROOT / f"tests/fuzz/{name}.dict"
    if dictionary.exists():
        argv.insert(1, f"-dict={dictionary}")
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, errors="replace",
                          check=False)
    said = done.stderr
    findings = re.findall(r"Test unit written to (\S+)", said)
    runs = last_number(r"number_of_executed_units: (\d+)", said)
    edges = last_number(r"cov: (\d+)", said)
    print(f"{name:14} {minutes:5g} min {runs:>10} executions {edges:>6} edges"
          f" {len(findings)} findings {' '.join(findings)}", flush=True)
    if done.returncode and not findings:
        print(said[-3000:], file=sys.stderr)
    return done.returncode == 0


def keep(name: str) -> None:
    corpus, found = CORPUS / name, BUILD / "found" / name
    short = [path for path in found.iterdir()
             if path.is_file() and path.stat().st_size <= LONGEST and re.match("[0-9a-f]{40}$",
                                                                              path.name)]
    gathered = BUILD / "short" / name
    gathered.mkdir(parents=True, exist_ok=True)
    for path in short:
        (gathered / path.name).write_bytes(path.read_bytes())
    subprocess.run([str(BUILD / f"fuzz_{name}"), "-merge=1", str(corpus), str(gathered)], cwd=ROOT,
                   check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("minutes", type=float)
    parser.add_argument("target", nargs="*", default=[])
    given = parser.parse_args()
    names = given.target or targets()
    build(names)
    sound = True
    for name in names:
        sound = fuzz(name, given.minutes) and sound
        if given.keep:
            keep(name)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
