#!/usr/bin/env python3
"""Commands on changed files: run.py PROGRAM [--files N] [--seed S].

Each is a timeline, or one of several ranks' timelines, with a few changes of its rows or bytes,
made from the seed and its number alone. A finding is a traceback, a report of a sanitizer, a byte
that a terminal acts on, a failure without a line, or no end. Other documents are changed by the
targets of tests/fuzz/lua.
"""

import argparse
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ["small/run.sqlite", "repeats/run.1.sqlite", "graphs/graph.sqlite",
            "graphs/node.sqlite", "unmarked/eager.sqlite", "unmarked/whole.sqlite",
            "odd/no_nvtx.sqlite"]
NUMBERS = [-1, 0, 1, 2**31 - 1, -2**31, 2**32, 2**53, 2**62, 2**63 - 1, -2**63, 10**18]
TEXTS = ["", "<script>", "=cmd|x", "a|b", "\x1b]0;x\x07", "\u202ex", "x" * 5000, "../../etc/passwd",
         "decode", "prefill", "\n# h", "%s%n"]
BUGS = re.compile(rb"stack traceback|this is a bug in llmprof|Sanitizer|runtime error:")
ACTED_ON = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
PATIENCE = 60

program = ""


def value(numbers: random.Random) -> object:
    return numbers.choice([numbers.choice(NUMBERS), numbers.choice(TEXTS), None,
                           numbers.choice([0.5, 1e308, -1e-320]), b"\x00\xff"])


def change_rows(path: Path, numbers: random.Random) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA synchronous = OFF")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE "
                                               "type = 'table' ORDER BY name")]
        for _ in range(numbers.choice([1, 1, 2, 4])):
            table = numbers.choice(tables)
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            column = numbers.choice(columns)
            rest = numbers.choice(["", f" WHERE rowid % {numbers.randint(2, 9)} = 0",
                                   " WHERE rowid = 1"])
            change = numbers.choice([
                f'UPDATE OR IGNORE "{table}" SET "{column}" = ?{rest}',
                f'DELETE FROM "{table}"{rest}', f'ALTER TABLE "{table}" DROP COLUMN "{column}"',
                f'UPDATE OR IGNORE "{table}" SET "{column}" = -"{column}"{rest}'])
            try:
                db.execute(change, (value(numbers),) if "?" in change else ())
            except sqlite3.Error:
                pass
    db.close()


def change_bytes(path: Path, numbers: random.Random) -> None:
    contents = bytearray(path.read_bytes())
    for _ in range(numbers.choice([1, 4, 32])):
        place = numbers.randrange(len(contents))
        contents[place] = numbers.choice([0, 255, numbers.randrange(256)])
    if numbers.random() < 0.2:
        del contents[numbers.randrange(1, len(contents)):]
    path.write_bytes(contents)


def change(path: Path, numbers: random.Random) -> None:
    (change_rows if numbers.random() < 0.6 else change_bytes)(path, numbers)


# ---- what is changed, and the command that is given it ----


def timeline(folder: Path, numbers: random.Random, number: int) -> List[str]:
    path = folder / "trace.sqlite"
    shutil.copyfile(ROOT / "tests/fixtures" / numbers.choice(FIXTURES), path)
    change(path, numbers)
    return [["stats", str(path)], ["export", str(path), "-o", str(folder / "x.json")],
            ["scrub", str(path), "-o", str(folder / "s.sqlite")], ["compare", str(path), str(path)],
            ["-e", 'kernels:group("name"):sum("dur")', str(path)]][number % 5]


def ranks(folder: Path, numbers: random.Random, number: int) -> List[str]:
    paths = []
    for rank in range(2):
        paths.append(folder / f"rank{rank}.sqlite")
        shutil.copyfile(ROOT / f"tests/fixtures/nccl2/rank{rank}.sqlite", paths[rank])
    change(paths[numbers.randrange(2)], numbers)
    shutil.rmtree(folder / "out", ignore_errors=True)
    return ["ranks", *map(str, paths), *(["-o", str(folder / "out")] if number % 2 else [])]


KINDS: Dict[str, Callable[[Path, random.Random, int], List[str]]] = {
    "timelines": timeline, "ranks": ranks}

# The kind of each of four files; then again.
SHARES = ["timelines", "timelines", "ranks", "timelines"]


def fault(folder: Path, argv: List[str]) -> str:
    """What is wrong with how a command ends; "" when nothing is."""
    try:
        done = subprocess.run([program, *argv], cwd=ROOT, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env=dict(os.environ, TMPDIR=str(folder)), timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "no end"
    bug = BUGS.search(done.stderr + done.stdout)
    if bug:
        return bug.group(0).decode()
    if ACTED_ON.search(done.stderr) or ACTED_ON.search(done.stdout):
        return "a byte that a terminal acts on"
    if done.returncode not in (0, 1, 2, 3, 4, 5):
        return f"exit status {done.returncode}"
    return "no line" if done.returncode and not done.stderr.strip() else ""


def try_file(folder: Path, seed: int, number: int) -> Tuple[List[str], str]:
    numbers = random.Random(seed * 1000003 + number)
    argv = KINDS[SHARES[number % len(SHARES)]](folder, numbers, number // len(SHARES))
    return argv, fault(folder, argv)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one file, by its number, which is kept")
    given = parser.parse_args()
    global program
    program, found = given.program, 0
    folder = Path(tempfile.mkdtemp(prefix="llmprof-mutation."))
    wanted = range(given.files) if given.only is None else [given.only]
    for number in wanted:
        argv, wrong = try_file(folder, given.seed, number)
        if wrong:
            found += 1
            print(f"seed {given.seed}, file {number}: {wrong}: llmprof {' '.join(argv)}",
                  flush=True)
    if given.only is None:
        shutil.rmtree(folder)
    kinds = [SHARES[number % len(SHARES)] for number in wanted]
    print(", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS))
    print(f"{len(wanted)} files, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
