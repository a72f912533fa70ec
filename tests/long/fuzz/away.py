#!/usr/bin/env python3
"""Fuzz all targets side by side where pack.py's kit was unpacked:
away.py --state FOLDER SECONDS JOBS OUT.

Every target runs for SECONDS, JOBS processes at once; those with the fewest minutes of
processor time (tests/fuzz/README.md, and what earlier calls added) come first, and get a
second process where JOBS is more than the targets. Slow targets (run.py) run for two
thirds of the time without sanitizers. OUT gets, every 30 s, `findings` and `table.csv` with
what all calls together did, which `run.py --add` adds to a table, and at the end
`new.tar.xz`: inputs that cover more than the corpus. What the calls found and did is kept
in FOLDER; SECONDS of 0 only makes those files of it. SIGTERM and SIGINT end the targets,
and the files are made then.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, IO, List, Optional, Tuple

import run

EVERY = 30  # seconds from table to table
MOST_PACKED = 15 << 20  # bytes
MERGE = 300  # seconds that the smallest set of inputs of a target may take

Counts = List[float]  # minutes, executions, edges, pairs, findings

ended = threading.Event()


def had(docs: Path) -> Dict[str, float]:
    """Minutes of each target in the table of the documentation."""
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", docs.read_text(encoding="utf-8"), re.M)
    return {name: float(minutes) for name, minutes in rows}


def environment(name: str, scratch: str) -> Dict[str, str]:
    made = run.environment(name, scratch)
    made["LD_LIBRARY_PATH"] = str(run.ROOT / "lib")
    return made


class Process:
    """One of a target's processes, again and again until its time is over."""

    def __init__(self, name: str, fast: bool, seconds: float, state: Path):
        self.name, self.fast, self.seconds = name, fast, seconds
        self.found, self.log = state / "found" / name, state / "log"
        self.findings = state / "findings" / name
        self.done: Counts = [0, 0, 0, 0, 0]  # by what has ended
        self.child: Optional["subprocess.Popen[bytes]"] = None
        self.said: Optional[Path] = None
        for folder in (self.found, self.log, self.findings):
            folder.mkdir(parents=True, exist_ok=True)

    def command(self, seconds: int) -> List[str]:
        program = run.program(self.name, run.FAST if self.fast else run.SLOW)
        return [str(program), f"-max_total_time={seconds}", "-reload=10",
                *run.options(self.name), f"-artifact_prefix={self.findings}/",
                str(self.found), str(run.CORPUS / self.name)]

    def read(self) -> Tuple[str, int]:
        text = self.said.read_text(encoding="utf-8", errors="replace") if self.said else ""
        return text, max(run.largest(r"^#(\d+)", text),
                         run.largest(r"number_of_executed_units: (\d+)", text))

    def counts(self) -> Counts:
        """Until now."""
        made = list(self.done)
        child = self.child
        if child is None:
            return made
        try:
            stat = Path(f"/proc/{child.pid}/stat").read_text(encoding="ascii")
        except OSError:
            return made
        ticks = stat.rpartition(")")[2].split()[11:13]
        text, count = self.read()
        made[0] += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") / 60
        made[1] += count
        made[2] = max(made[2], run.largest(r" cov: (\d+)", text))
        return made

    def once(self, seconds: int) -> int:
        with run.scratch_folder() as scratch:
            self.said = self.log / f"{self.name}.{os.getpid()}.{id(self)}"
            with self.said.open("wb") as said:
                child = subprocess.Popen(self.command(seconds), cwd=run.ROOT,
                                         env=environment(self.name, scratch),
                                         stdout=subprocess.DEVNULL, stderr=said)
            self.child = child
            _, status, usage = os.wait4(child.pid, 0)
        self.child = None
        child.returncode = os.waitstatus_to_exitcode(status)
        text, count = self.read()
        kept = re.findall(r"Test unit written to (\S*/(?!slow-unit)[^/\s]+)\n", text)
        failed = child.returncode and not ended.is_set()
        self.done = [self.done[0] + (usage.ru_utime + usage.ru_stime) / 60,
                     self.done[1] + count,
                     max(self.done[2], run.largest(r" cov: (\d+)", text)),
                     max(self.done[3], run.largest(r"pairs_of_lua_lines: +(\d+)", text)),
                     self.done[4] + max(len(kept), 1 if failed else 0)]
        if kept or failed:
            last = kept[-1] if kept else f"{self.findings}/status-{time.time():.0f}"
            Path(last + ".log").write_text(text[-100000:], encoding="utf-8")
        self.said.unlink()
        self.said = None
        return child.returncode

    def go(self) -> None:
        end = time.monotonic() + self.seconds
        for _ in range(run.MOST_STARTS):
            left = int(end - time.monotonic())
            if ended.is_set() or left < 1:
                return
            self.once(left)

    def stop(self) -> None:
        child = self.child
        if child:
            child.send_signal(signal.SIGINT)  # it says what it did, and ends


# ---- all of them ----

class Campaign:
    def __init__(self, state: Path, out: Path):
        self.state, self.out = state, out
        self.before: Dict[str, Counts] = run.Table(state / "total.csv").rows
        self.processes: List[Process] = []
        self.names = run.targets()
        (state / "findings").mkdir(parents=True, exist_ok=True)

    def minutes(self) -> Dict[str, float]:
        documented = had(run.ROOT / "tests/fuzz/README.md")
        return {name: documented.get(name, 0) + self.before.get(name, [0])[0]
                for name in self.names}

    def lines(self, seconds: float, jobs: int) -> List[List[Process]]:
        """Processes that follow each other, in each line."""
        minutes = self.minutes()
        order = sorted(self.names, key=lambda name: minutes[name])
        order += order[:max(jobs - len(order), 0)]
        made = []
        for name in order:
            if run.is_slow(name):
                made.append([Process(name, True, seconds * 2 / 3, self.state),
                             Process(name, False, seconds / 3, self.state)])
            else:
                made.append([Process(name, False, seconds, self.state)])
        self.processes = [process for line in made for process in line]
        return made

    def write(self) -> None:
        rows = {name: list(counts) for name, counts in self.before.items()}
        for process in self.processes:
            row, counts = rows.setdefault(process.name, [0, 0, 0, 0, 0]), process.counts()
            rows[process.name] = [row[0] + counts[0], row[1] + counts[1],
                                  max(row[2], counts[2]), max(row[3], counts[3]),
                                  row[4] + counts[4]]
        for path in (self.state / "total.csv", self.out / "table.csv"):
            table = run.Table(path)
            table.rows = rows
            table.write()
        self.copy_findings()

    def copy_findings(self) -> None:
        """Soon: machines that are lent go away."""
        shutil.copytree(self.state / "findings", self.out / "findings", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("slow-unit-*"))

    def watch(self, over: threading.Event) -> None:
        while not over.wait(EVERY):
            self.write()

    def fuzz(self, seconds: float, jobs: int) -> None:
        def follow(line: List[Process]) -> None:
            for process in line:
                process.go()
        over = threading.Event()
        watcher = threading.Thread(target=self.watch, args=(over,))
        lines = self.lines(seconds, jobs)
        watcher.start()
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(follow, lines))
        over.set()
        watcher.join()
        self.write()

    # ---- what was found ----

    def shortest(self, name: str) -> List[Path]:
        """As many as can be run in the time, the shortest ones."""
        minutes, count = run.Table(self.state / "total.csv").rows.get(name, [0, 0])[:2]
        most = int(MERGE * count / (minutes * 60)) if minutes else 0
        paths = [path for path in (self.state / "found" / name).glob("*")
                 if path.stat().st_size <= run.LONGEST
                 and not (run.CORPUS / name / path.name).exists()]
        return sorted(paths, key=lambda path: path.stat().st_size)[:max(most, 200)]

    def fresh_folders(self, name: str) -> List[Path]:
        made = [self.state / kind / name for kind in ("base", "short", "new")]
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return made

    def merge(self, name: str) -> None:
        """Inputs that cover what those of the corpus and shorter ones do not."""
        base, short, gathered = self.fresh_folders(name)
        for path in self.shortest(name):
            shutil.copy(path, short / path.name)
        for path in (run.CORPUS / name).iterdir():
            shutil.copy(path, base / path.name)
        if not any(short.iterdir()):
            return
        known = {path.name for path in base.iterdir()}
        with run.scratch_folder() as scratch:
            command = [str(run.program(name, run.FAST)), "-merge=1", "-use_counters=0",
                       *run.options(name), f"-artifact_prefix={scratch}/", str(base), str(short)]
            try:
                subprocess.run(command, cwd=run.ROOT, env=environment(name, scratch),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               timeout=MERGE * 2, check=False)
            except subprocess.TimeoutExpired:
                print(f"{name}: looking for new inputs took too long", file=sys.stderr)
        for path in base.iterdir():
            if path.name not in known:
                shutil.copy(path, gathered / path.name)

    def pack(self, longest: int) -> int:
        with tarfile.open(self.out / "new.part", "w:xz") as file:
            for path in sorted((self.state / "new").glob("*/*")):
                if path.stat().st_size <= longest:
                    file.add(path, path.relative_to(self.state / "new"))
        (self.out / "new.part").replace(self.out / "new.tar.xz")
        return (self.out / "new.tar.xz").stat().st_size

    def keep(self, jobs: int) -> None:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(self.merge, self.names))
        longest = run.LONGEST
        while self.pack(longest) > MOST_PACKED:
            longest //= 2

    def stop(self, _signal: int, _frame: object) -> None:
        ended.set()
        for process in self.processes:
            process.stop()


def table(rows: Dict[str, Counts], file: IO[str]) -> None:
    print(f"{'target':14} {'minutes':>8} {'executions':>12} {'edges':>7} {'pairs':>7} findings",
          file=file)
    for name in sorted(rows):
        minutes, count, edges, pairs, findings = rows[name]
        print(f"{name:14} {minutes:8.1f} {count:12.0f} {edges:7.0f} {pairs:7.0f}"
              f" {findings:8.0f}", file=file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("seconds", type=float)
    parser.add_argument("jobs", type=int)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(given.state.resolve(), given.out.resolve())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, campaign.stop)
    if given.seconds >= 1:
        campaign.fuzz(given.seconds, given.jobs)
    campaign.write()
    campaign.keep(given.jobs)
    rows = run.Table(given.out / "table.csv").rows
    table(rows, sys.stdout)
    return 1 if any(counts[4] for counts in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
