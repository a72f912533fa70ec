#!/usr/bin/env python3
"""Fuzz every target for so many minutes: run.py [--keep] [--jobs N] MINUTES [TARGET...].

Builds the preset `fuzz` first. Inputs that cover something new gather in
build/fuzz/tests/fuzz/found/TARGET; --keep adds the smallest set of them that covers as
much to tests/fuzz/corpus/TARGET. A target that finds something is started again until its
time is over. Its line says how often it ran, how many edges of C and pairs of lines of
Lua it covers, and what it found. With --without-sanitizers targets in Lua run several
times as often; build/fuzz-fast is theirs then.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/fuzz/tests/fuzz"
FAST = ROOT / "build/fuzz-fast/tests/fuzz"

# Where the program of targets that are scripts is.
scripts_in = [BUILD]
CORPUS = ROOT / "tests/fuzz/corpus"

# Inputs that are kept are no longer, in bytes.
LONGEST = 2048


# Fresh starts after a finding: more of them find the same.
MOST_STARTS = 20

LUA = "lua"  # the program of all targets that are scripts


def targets() -> List[str]:
    in_c = [path.stem[len("fuzz_"):] for path in (ROOT / "tests/fuzz").glob("fuzz_*.c")]
    scripts = [path.stem for path in (ROOT / "tests/fuzz/lua").glob("*.lua")]
    return sorted(name for name in in_c + scripts if (CORPUS / name).is_dir())


def is_script(name: str) -> bool:
    return not (ROOT / f"tests/fuzz/fuzz_{name}.c").exists()


def program(name: str) -> Path:
    return scripts_in[0] / f"fuzz_{LUA}" if is_script(name) else BUILD / f"fuzz_{name}"


def build(names: List[str], fast: bool) -> None:
    wanted = sorted({program(name).name for name in names})
    subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "fuzz", "--target", *wanted], cwd=ROOT,
                   check=True, stdout=subprocess.DEVNULL)
    if fast:
        subprocess.run(["cmake", "--preset", "fuzz", "-B", "build/fuzz-fast",
                        "-DLLMPROF_SANITIZE="], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", "build/fuzz-fast", "--target", f"fuzz_{LUA}"],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        scripts_in[0] = FAST


def environment(name: str, scratch: str) -> Dict[str, str]:
    """What a script writes is in a folder of its own."""
    return dict(os.environ, LLMPROF_FUZZ_LUA=f"tests/fuzz/lua/{name}.lua", TMPDIR=scratch,
                HOME=scratch, XDG_CACHE_HOME=scratch)


def options(name: str) -> List[str]:
    """Lua's own memory is not counted by every library: leaks are looked for in C alone."""
    made = ["-max_len=4096", "-timeout=60", "-rss_limit_mb=4000", "-print_final_stats=1"]
    dictionary = ROOT / f"tests/fuzz/{name}.dict"
    made += [f"-dict={dictionary}"] if dictionary.exists() else []
    return made + (["-detect_leaks=0"] if is_script(name) else [])


def run_once(name: str, seconds: int) -> Tuple[str, int]:
    found = BUILD / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="llmprof-fuzz.") as scratch:
        done = subprocess.run(
            [str(program(name)), f"-max_total_time={seconds}", *options(name),
             f"-artifact_prefix={found}/", str(found), str(CORPUS / name)],
            cwd=ROOT, env=environment(name, scratch), capture_output=True, text=True,
            errors="replace", check=False)
    return done.stderr, done.returncode


def largest(pattern: str, text: str) -> int:
    return max([int(number) for number in re.findall(pattern, text)], default=0)


def fuzz(name: str, minutes: float) -> bool:
    """Whether the target ran so long and found nothing."""
    end, findings, runs, edges, pairs = time.monotonic() + minutes * 60, [], 0, 0, 0
    for _ in range(MOST_STARTS):
        said, status = run_once(name, max(int(end - time.monotonic()), 1))
        findings += re.findall(r"Test unit written to (\S+)", said)
        runs += largest(r"number_of_executed_units: (\d+)", said)
        edges = max(edges, largest(r" cov: (\d+)", said))
        pairs = max(pairs, largest(r"pairs_of_lua_lines: +(\d+)", said))
        if status and not re.search("Test unit written to", said):
            findings.append(f"exit status {status}")
            print(said[-3000:], file=sys.stderr)
            break
        if not status or time.monotonic() > end:
            break
    print(f"{name:14} {minutes:5g} min {runs:>10} executions {edges:>6} edges {pairs:>6} pairs"
          f" {len(findings)} findings {' '.join(findings)}", flush=True)
    return not findings


def keep(name: str) -> None:
    corpus, found = CORPUS / name, BUILD / "found" / name
    short = [path for path in found.iterdir()
             if path.is_file() and path.stat().st_size <= LONGEST and re.match("[0-9a-f]{40}$",
                                                                              path.name)]
    gathered = BUILD / "short" / name
    gathered.mkdir(parents=True, exist_ok=True)
    for path in short:
        (gathered / path.name).write_bytes(path.read_bytes())
    with tempfile.TemporaryDirectory(prefix="llmprof-fuzz.") as scratch:
        subprocess.run([str(program(name)), "-merge=1", *options(name), str(corpus),
                        str(gathered)], cwd=ROOT, env=environment(name, scratch), check=True,
                       capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="targets at once")
    parser.add_argument("--without-sanitizers", action="store_true")
    parser.add_argument("minutes", type=float)
    parser.add_argument("target", nargs="*", default=[])
    given = parser.parse_args()
    names = given.target or targets()
    build(names, given.without_sanitizers)
    with ThreadPoolExecutor(given.jobs) as pool:
        sound = list(pool.map(lambda name: fuzz(name, given.minutes), names))
    for name in names if given.keep else []:
        keep(name)
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
