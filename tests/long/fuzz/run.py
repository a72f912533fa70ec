#!/usr/bin/env python3
"""Fuzz every target for so many minutes: run.py [OPTION...] MINUTES [TARGET...].

Builds the preset `fuzz` first, unless --built says that it is. Inputs that cover something
new gather in build/fuzz/tests/fuzz/found/TARGET; --keep adds the smallest set of them that
covers as much to tests/fuzz/corpus/TARGET. A target that finds something is started again until its
time is over. Its line says how often it ran, how many edges of C and pairs of lines of
Lua it covers, and what it found. With --without-sanitizers targets in Lua and those that
read traces run several times as often; build/fuzz-fast is theirs then. --had FILE adds
what a target had to a table, which grows from run to run: minutes are of processor time,
and targets with the fewest come first. With --fill MINUTES are what each shall have had
there. --add TABLE only adds a table of another machine
(away.py) to that of --had.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/fuzz/tests/fuzz"
SLOW = ROOT / "build/fuzz-slow/tests/fuzz"
FAST = ROOT / "build/fuzz-fast/tests/fuzz"

# Where the program of targets that are slow is.
slow_in = [SLOW]
CORPUS = ROOT / "tests/fuzz/corpus"

# Inputs that are kept are no longer, in bytes.
LONGEST = 2048


SHORTEST = 0.1  # minutes that are worth a start

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


def fuzz(name: str, minutes: float, table: Optional["Table"]) -> bool:
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
    if table:
        table.add(name, took, runs, edges, pairs, len(findings))
    return not findings


# ---- what each had in all ----

class Table:
    """A CSV file with a line for each target."""

    COLUMNS = ("target", "minutes", "executions", "edges", "pairs", "findings")

    def __init__(self, path: Path):
        self.path, self.lock = path, threading.Lock()
        self.rows: Dict[str, List[float]] = {}
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                for row in list(csv.reader(file))[1:]:
                    self.rows[row[0]] = [float(cell) for cell in row[1:]]

    def minutes(self, name: str) -> float:
        return self.rows.get(name, [0])[0]

    def add(self, name: str, minutes: float, runs: int, edges: int, pairs: int,
            findings: int) -> None:
        with self.lock:
            had = self.rows.get(name, [0, 0, 0, 0, 0])
            self.rows[name] = [had[0] + minutes, had[1] + runs, max(had[2], edges),
                               max(had[3], pairs), had[4] + findings]
            self.write()

    def add_all(self, other: "Table") -> None:
        for name, (minutes, *counts) in other.rows.items():
            self.add(name, minutes, *map(int, counts))

    def write(self) -> None:
        fresh = self.path.with_suffix(".new")
        with fresh.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(self.COLUMNS)
            for name in sorted(self.rows):
                minutes, *counts = self.rows[name]
                out.writerow([name, f"{minutes:.2f}", *map(int, counts)])
        fresh.replace(self.path)


def fill(name: str, minutes: float, table: Table) -> bool:
    """Whether nothing was found until the target had so many minutes."""
    while minutes - table.minutes(name) > SHORTEST:
        if not fuzz(name, minutes - table.minutes(name), table):
            return False
    return True


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
    parser.add_argument("--had", type=Path, metavar="FILE")
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--add", type=Path, metavar="TABLE")
    parser.add_argument("minutes", type=float, nargs="?", default=0)
    parser.add_argument("target", nargs="*", default=[])
    given = parser.parse_args()
    if given.add:
        if not given.had or not given.add.is_file():
            parser.error("--add wants a table that is there, and --had FILE")
        Table(given.had).add_all(Table(given.add))
        return 0
    if given.fill and not given.had:
        parser.error("--fill wants --had FILE")
    names = given.target or targets()
    if given.without_sanitizers:
        slow_in[0] = FAST
    if not given.built:
        build(names, given.without_sanitizers)
    table = Table(given.had) if given.had else None
    if table:
        names = sorted(names, key=table.minutes)
    with ThreadPoolExecutor(given.jobs) as pool:
        sound = list(pool.map(lambda name: fill(name, given.minutes, table)
                              if table and given.fill
                              else fuzz(name, given.minutes, table), names))
    for name in names if given.keep else []:
        keep(name)
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
