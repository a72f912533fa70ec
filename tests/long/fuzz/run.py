#!/usr/bin/env python3
"""Fuzz every target for so many minutes: run.py [OPTION...] MINUTES [TARGET...].

Builds the preset `fuzz` first, unless --built says that it is. Inputs that cover something
new gather in build/fuzz/tests/fuzz/found/TARGET; --keep adds the smallest set of them that
covers as much to tests/fuzz/corpus/TARGET. A target that finds something is started again until its
time is over. Its line says how often it ran, how many edges of C and pairs of lines of
Lua it covers, and what it found. With --without-sanitizers targets in Lua and those that
read traces run several times as often; build/fuzz-fast is theirs then.
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
from typing import Dict, List, NamedTuple

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/fuzz/tests/fuzz"
SLOW = ROOT / "build/fuzz-slow/tests/fuzz"
FAST = ROOT / "build/fuzz-fast/tests/fuzz"

# Where the program of targets that are slow is.
slow_in = [SLOW]
CORPUS = ROOT / "tests/fuzz/corpus"

# Inputs that are kept are no longer, in bytes.
LONGEST = 2048

# Fresh starts after a finding: more of them find the same.
MOST_STARTS = 20

# Targets in C that open a database, or read all of a trace, for each input.
TRACES = ("builder", "cache", "rows", "scan", "spool", "trace")

# What slow targets read has a form already: what C compares says nothing new, and to be
# told of it takes up to half of their time.
PLAIN = "-DCMAKE_C_FLAGS=-fno-sanitize-coverage=trace-cmp"

LUA = "lua"  # the program of all targets that are scripts


class Ended(NamedTuple):
    said: str
    status: int
    minutes: float  # of processor time


def targets() -> List[str]:
    in_c = [path.stem[len("fuzz_"):] for path in (ROOT / "tests/fuzz").glob("fuzz_*.c")]
    scripts = [path.stem for path in (ROOT / "tests/fuzz/lua").glob("*.lua")]
    return sorted(name for name in in_c + scripts if (CORPUS / name).is_dir())


def is_script(name: str) -> bool:
    return not (ROOT / f"tests/fuzz/fuzz_{name}.c").exists()


def is_slow(name: str) -> bool:
    return is_script(name) or name in TRACES


def program(name: str, slow: Path) -> Path:
    folder = slow if is_slow(name) else BUILD
    return folder / f"fuzz_{LUA if is_script(name) else name}"


def build_in(folder: Path, names: List[str], *given: str) -> None:
    tree = folder.parents[1]
    wanted = sorted({program(name, folder).name for name in names})
    for command in (["--preset", "fuzz", "-B", str(tree), *given],
                    ["--build", str(tree), "--target", *wanted]):
        subprocess.run(["cmake", *command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def build(names: List[str], fast: bool) -> None:
    slow = [name for name in names if is_slow(name)]
    if len(slow) < len(names):
        build_in(BUILD, [name for name in names if not is_slow(name)])
    if slow:
        build_in(SLOW, slow, PLAIN)
    if slow and fast:
        build_in(FAST, slow, PLAIN, "-DLLMPROF_SANITIZE=")


def environment(name: str, scratch: str) -> Dict[str, str]:
    """What a script writes is in a folder of its own."""
    return dict(os.environ, LLMPROF_FUZZ_LUA=f"tests/fuzz/lua/{name}.lua", TMPDIR=scratch,
                HOME=scratch, XDG_CACHE_HOME=scratch,
                LLMPROF_LIMITS="bytes=2000000000,threads=2")


def options(name: str) -> List[str]:
    """Lua's own memory is not counted by every library: leaks are looked for in C alone.
    Which input is next is chosen by chance where weighing them would take a fifth of the
    time."""
    made = ["-max_len=4096", "-timeout=60", "-rss_limit_mb=4000", "-print_final_stats=1"]
    dictionary = ROOT / f"tests/fuzz/{name}.dict"
    made += [f"-dict={dictionary}"] if dictionary.exists() else []
    made += ["-entropic=0"] if is_slow(name) else []
    return made + (["-detect_leaks=0"] if is_script(name) else [])


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """In memory, where the system has a folder that is."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(prefix="llmprof-fuzz.",
                                       dir=memory if os.access(memory, os.W_OK) else None)


def run_once(name: str, seconds: int) -> Ended:
    found = BUILD / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    with scratch_folder() as scratch, \
            tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [str(program(name, slow_in[0])), f"-max_total_time={seconds}", *options(name),
             f"-artifact_prefix={found}/", str(found), str(CORPUS / name)],
            cwd=ROOT, env=environment(name, scratch), stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) \
            else os.WEXITSTATUS(status)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    return Ended(text, child.returncode, (usage.ru_utime + usage.ru_stime) / 60)


def largest(pattern: str, text: str) -> int:
    return max([int(number) for number in re.findall(pattern, text)], default=0)


def fuzz(name: str, minutes: float) -> bool:
    """Whether the target ran so long and found nothing."""
    end, findings, runs, edges, pairs = time.monotonic() + minutes * 60, [], 0, 0, 0
    took = 0.0
    for _ in range(MOST_STARTS):
        ended = run_once(name, max(int(end - time.monotonic()), 1))
        said = ended.said
        findings += re.findall(r"Test unit written to (\S*/(?!slow-unit)[^/\s]+)\n", said)
        runs += largest(r"number_of_executed_units: (\d+)", said)
        edges = max(edges, largest(r" cov: (\d+)", said))
        pairs = max(pairs, largest(r"pairs_of_lua_lines: +(\d+)", said))
        took += ended.minutes
        if ended.status and not findings:
            findings.append(f"exit status {ended.status}")
            print(said[-3000:], file=sys.stderr)
            break
        if not ended.status or time.monotonic() > end:
            break
    print(f"{name:14} {took:5.1f} min {runs:>10} executions {edges:>6} edges {pairs:>6} pairs"
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
    with scratch_folder() as scratch:
        # how often an edge was taken does not count
        subprocess.run([str(program(name, slow_in[0])), "-merge=1", "-use_counters=0",
                        *options(name), str(corpus), str(gathered)], cwd=ROOT,
                       env=environment(name, scratch), check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="targets at once")
    parser.add_argument("--built", action="store_true")
    parser.add_argument("--without-sanitizers", action="store_true")
    parser.add_argument("minutes", type=float)
    parser.add_argument("target", nargs="*", default=[])
    given = parser.parse_args()
    names = given.target or targets()
    if given.without_sanitizers:
        slow_in[0] = FAST
    if not given.built:
        build(names, given.without_sanitizers)
    with ThreadPoolExecutor(given.jobs) as pool:
        sound = list(pool.map(lambda name: fuzz(name, given.minutes), names))
    for name in names if given.keep else []:
        keep(name)
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
