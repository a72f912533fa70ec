#!/usr/bin/env python3
"""Commands that fail at every place where they can: run.py PROGRAM BUILD [OPTION...].

Each command runs once as it is, which gives what it is to leave, and then again and again
with the N-th allocation, write, open, rename or sync failing, with the disk full after N
bytes, or killed at the N-th call that changes a file. A finding is a crash, a failure
without a line, a success with something missing, a file that is half written, a temporary
that stays, and a command that does not go on afterwards.

--kinds and --commands choose; --every K takes each K-th N, from --first on. --sample takes
the few seconds of it that are among the tests.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List, Optional, Tuple

# What a command printed and left.
Expected = Tuple[bytes, object]

ROOT = Path(__file__).resolve().parents[3]
SMALL = ROOT / "tests/fixtures/small"
TRACE = str(SMALL / "run.sqlite")
RUN = ["recipes/deepseek_ocr.lua", "capture=recorded", f"recorded={SMALL}", "-q"]
LIVE = ["tests/standin/recipe.lua", "counters=off", "operators=off", "overhead=off", "-q"]

BUGS = re.compile(rb"stack traceback|this is a bug in llmprof|Sanitizer|runtime error:|PANIC")
# Statuses of our own, and a loader's that could not open a library.
STATUSES = {0, 1, 2, 3, 4, 5, 125, 126, 127, 130}
# What a server says of a request that failed.
REFUSED = re.compile(rb'"error":\{|"isError":true')
NOT_LOADED = b"error while loading shared libraries"
SKIPPED = 77
PATIENCE = 120

# What differs between two runs of the same.
CHANGING = {"run_id", "started", "ended", "analysed", "created", "generated", "date", "id",
            "seconds", "command", "bundle", "llmprof", "environment", "captured_on", "dir",
            "recorded"}


class Kind:
    """How something fails: `fault_inject` with these words, or the preloaded allocator."""

    def __init__(self, calls: str, how: str):
        self.calls, self.how = calls, how


KINDS: Dict[str, Kind] = {
    "write_enospc": Kind("write", "enospc"), "write_eio": Kind("write", "eio"),
    "write_short": Kind("write", "short"), "open": Kind("open", "emfile"),
    "rename": Kind("rename", "eio"), "sync": Kind("sync", "eio"),
    "full": Kind("write", "full"), "kill": Kind("change", "kill"),
    "alloc": Kind("alloc", "0"), "alloc_on": Kind("alloc", "1"),
}


class Outcome:
    def __init__(self, status: int, out: bytes, err: bytes, count: int):
        self.status, self.out, self.err, self.count = status, out, err, count


class Command:
    """words(folder) is run in a folder that prepare(folder) has filled, with `said` on its
    standard input; then `after`, which has to work; kept(folder) is what it leaves, to be
    compared."""

    def __init__(self, words: Callable[[Path], List[str]],
                 after: Optional[Callable[[Path], List[str]]] = None,
                 prepare: Callable[[Path], None] = lambda folder: None,
                 kept: Callable[[Path], object] = lambda folder: None, said: bytes = b""):
        self.words, self.after = words, after or words
        self.prepare, self.kept, self.said = prepare, kept, said


# ---- what commands leave ----

def settled(value: object) -> object:
    """A document without what changes from run to run."""
    if isinstance(value, dict):
        return {key: settled(inner) for key, inner in value.items() if key not in CHANGING}
    return [settled(inner) for inner in value] if isinstance(value, list) else value


def results_of(folder: Path, name: str = "o") -> object:
    path = folder / name / "results.json"
    if not path.is_file():
        return None
    return json.dumps(settled(json.loads(path.read_text())), sort_keys=True).replace(
        str(folder), "FOLDER")


def unpacked(name: str) -> Callable[[Path], object]:
    return lambda folder: (gzip.decompress((folder / name).read_bytes())
                           if (folder / name).is_file() else None)


def rows_of(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        if not (folder / name).is_file():
            return None
        database = sqlite3.connect(folder / name)
        try:
            return list(database.iterdump())
        finally:
            database.close()
    return read


def names_below(name: str) -> Callable[[Path], object]:
    return lambda folder: sorted(str(path.relative_to(folder))
                                 for path in (folder / name).rglob("*")) or None


def half_written(path: Path) -> bool:
    """Is it not what its name says?"""
    contents = path.read_bytes()
    try:
        if path.suffix == ".json":
            json.loads(contents)
        elif path.suffix == ".gz":
            gzip.decompress(contents)
        elif path.suffix == ".sqlite":
            database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
            try:
                return database.execute("PRAGMA integrity_check").fetchone()[0] != "ok"
            finally:
                database.close()
        elif path.suffix == ".html":
            return not contents.rstrip().endswith(b"</html>")
        elif path.suffix in (".csv", ".md", ".yaml"):
            return bool(contents) and not contents.endswith(b"\n")
    except (ValueError, OSError, EOFError, sqlite3.Error):
        return True
    return False


# ---- the commands ----

# A run that the stand-in tools captured, made once.
made = Path(tempfile.mkdtemp(prefix="llmprof-faults.")) / "made"

# Where the tests were built.
built = Path()


def bundle_in(folder: Path) -> None:
    shutil.copytree(made, folder / "root/r")


def old_runs(folder: Path) -> None:
    for day in range(1, 4):
        run = folder / f"root/2026010{day}-000000-x"
        shutil.copytree(made, run)
        manifest = run / "manifest.json"
        document = json.loads(manifest.read_text())
        document.update(run_id=run.name, started=f"2026-01-0{day}T00:00:00Z")
        manifest.write_text(json.dumps(document))


def asked(*requests: Tuple[str, Dict[str, object]]) -> bytes:
    """Lines for a server of the Model Context Protocol."""
    return b"".join(json.dumps({"jsonrpc": "2.0", "id": number, "method": method,
                                "params": params}).encode() + b"\n"
                    for number, (method, params) in enumerate(requests, 1))


def recipe_of_ranks(folder: Path) -> List[str]:
    return [*LIVE, "launch.ranks=2", "launch.grace_s=1", f"out={folder}/o"]


def ranks_into(name: str) -> Callable[[Path], List[str]]:
    return lambda folder: ["ranks", "--strict", "-o", f"{folder}/{name}", *RANKS]


def ranks_again(folder: Path) -> List[str]:
    """Into the same folder, unless its run ended, though one of the files was left out."""
    manifest = folder / "o/manifest.json"
    whole = manifest.is_file() and json.loads(manifest.read_text())["status"] != "running"
    return ranks_into("again" if whole else "o")(folder)


def results_of_ranks(folder: Path) -> object:
    return results_of(folder, "again" if (folder / "again").is_dir() else "o")


def under_collector(folder: Path) -> List[str]:
    """A program with a stand-in for a GPU; both are built with the tests."""
    return ["collect", "--strict", "-o", f"{folder}/c.spool", "--library",
            f"{built}/lib/libllmprof_collector.so", "-p",
            f"cupti={built}/tests/collector/standin/libcupti.so", "--",
            "sh", "-c", f"{built}/tests/collector/collector_victim exit 8 1 || :"]


RANKS = [str(ROOT / f"tests/fixtures/nccl2/rank{rank}.sqlite") for rank in range(2)]

COMMANDS: Dict[str, Command] = {
    "version": Command(lambda folder: ["--version"]),
    "stats": Command(lambda folder: ["stats", TRACE]),
    "tables": Command(lambda folder: ["stats", "-f", "csv", "-o", f"{folder}/st", TRACE],
                      kept=names_below(".")),
    "expression": Command(lambda folder: ["-e", 'kernels:group("name"):sum("dur")', TRACE]),
    "operators": Command(lambda folder: ["operators", str(SMALL / "operators.json")]),
    "counters": Command(lambda folder: ["-e", "counters:head(3)", str(SMALL / "ncu/raw.csv")]),
    "compare": Command(lambda folder: ["compare", TRACE, TRACE]),
    "export": Command(lambda folder: ["export", "-o", f"{folder}/p.json.gz", TRACE],
                      kept=unpacked("p.json.gz")),
    "scrub": Command(lambda folder: ["scrub", TRACE, "-o", f"{folder}/s.sqlite"],
                     kept=rows_of("s.sqlite")),
    "run": Command(lambda folder: [*RUN, f"out={folder}/o"],
                   after=lambda folder: [*RUN, "--resume", f"{folder}/o"], kept=results_of),
    "record": Command(lambda folder: ["record", os.path.join(folder, "root", "r"), f"{folder}/rec"],
                      prepare=bundle_in, kept=names_below("rec")),
    "baseline": Command(lambda folder: ["baseline", "save", "--root", f"{folder}/root", "r", "b"],
                        prepare=bundle_in, kept=names_below("root/baselines")),
    "clean": Command(lambda folder: ["clean", "-y", "--keep", "1", "--root", f"{folder}/root"],
                     prepare=old_runs, kept=names_below("root")),
    "sweep": Command(lambda folder: ["sweep", RUN[0], "top_n.kernels=5,10", *RUN[1:3],
                                     f"run.root={folder}/root"]),
    "live": Command(lambda folder: [*LIVE, f"out={folder}/o"],
                    after=lambda folder: [*LIVE, "--resume", f"{folder}/o"], kept=results_of),
    "ranks": Command(lambda folder: ["ranks", "--strict", *RANKS]),
    "ranks_out": Command(ranks_into("o"), after=ranks_again, kept=results_of_ranks),
    "launch": Command(recipe_of_ranks, kept=results_of,
                      after=lambda folder: [*recipe_of_ranks(folder)[:-1], "--resume",
                                            f"{folder}/o"]),
    "compare_runs": Command(lambda folder: ["compare", "--root", f"{folder}/root", "r", "r"],
                            prepare=bundle_in),
    "show": Command(lambda folder: ["show", "--root", f"{folder}/root", "r", "kernels"],
                    prepare=bundle_in),
    "digest": Command(lambda folder: ["digest", "--root", f"{folder}/root", "r"],
                      prepare=bundle_in),
    "mcp": Command(lambda folder: ["mcp", "--root", f"{folder}/root"], prepare=bundle_in,
                   said=asked(("initialize", {"protocolVersion": "2025-06-18"}),
                              ("tools/list", {}), ("resources/list", {}),
                              ("tools/call", {"name": "digest", "arguments": {"run": "r"}}))),
    "collect": Command(under_collector, kept=lambda folder: (folder / "c.spool").is_file()),
}


# ---- running them ----

class Campaign:
    def __init__(self, program: str, build: Path):
        self.program = str(Path(program).resolve())
        self.inject = build / "tests/long/faults/fault_inject"
        self.allocator = build / "lib/fault_alloc.so"
        self.top = made.parent
        self.counts: Counter = Counter()
        self.findings: List[str] = []
        done = self.start([*LIVE, f"out={made}"], self.top, None)
        if done.status:
            sys.exit(done.err.decode("utf-8", "replace"))

    def environment(self, folder: Path) -> Dict[str, str]:
        log = folder / "log"
        log.mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir(exist_ok=True)
        env = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        env.update(PATH=f"{ROOT}/tests/standin:{os.environ['PATH']}", LC_ALL="C.UTF-8",
                   NO_COLOR="1", HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"),
                   TMPDIR=str(folder / "tmp"), STANDIN_LOG=str(log))
        return env

    def start(self, words: List[str], folder: Path, fault: Optional[Tuple[Kind, int]],
              said: bytes = b"") -> Outcome:
        """Run it, failing so if a fault is given (0: only counted)."""
        env, argv = self.environment(folder), [self.program, *words]
        report = self.top / "report"
        report.unlink(missing_ok=True)
        if fault and fault[0].calls == "alloc":
            env.update(LD_PRELOAD=str(self.allocator), FAULT_ALLOC=str(fault[1]),
                       FAULT_ALLOC_ON=fault[0].how, FAULT_REPORT=str(report))
        elif fault:
            argv = [str(self.inject), fault[0].calls, fault[0].how, str(fault[1]), str(report),
                    *argv]
        done = subprocess.run(argv, cwd=ROOT, env=env, input=said,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                              check=False)
        count = int(report.read_text() or 0) if report.is_file() else 0
        return Outcome(done.returncode, done.stdout, done.stderr, count)

    def fresh(self, command: Command) -> Path:
        folder = self.top / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        command.prepare(folder)
        return folder

    # ---- judging ----

    def wrong_with(self, outcome: Outcome, killed: bool) -> List[str]:
        """Of how it ended and what it said."""
        if killed and outcome.status == 128 + 9:
            return []
        wrong = []
        if BUGS.search(outcome.err):
            wrong.append("a bug")
        if outcome.status not in STATUSES and NOT_LOADED not in outcome.err:
            wrong.append(f"exit status {outcome.status}")
        elif outcome.status and b"llmprof: " not in outcome.err \
                and NOT_LOADED not in outcome.err:
            wrong.append("no line")
        return wrong

    @staticmethod
    def left_over(folder: Path) -> List[str]:
        wrong = []
        for path in folder.rglob("*"):
            if path.name.startswith(".llmprof-"):
                wrong.append(f"left: {re.sub('[0-9a-f]{8,}', 'X', str(path.relative_to(folder)))}")
            elif path.is_file() and not path.is_symlink() and "log" not in path.parts \
                    and not any(part.startswith(".llmprof-") for part in path.parts) \
                    and half_written(path):
                wrong.append(f"half written: {path.name}")
        return wrong

    def judge(self, command: Command, folder: Path, outcome: Outcome, expected: Expected,
              kind: Kind) -> List[str]:
        killed = kind.how == "kill"
        wrong = self.wrong_with(outcome, killed)
        if outcome.status == 0 and not REFUSED.search(outcome.out):
            same = (outcome.out.replace(str(folder).encode(), b"FOLDER"), command.kept(folder))
            if same[0] != expected[0]:
                wrong.append("success, but it printed something else")
            if same[1] != expected[1]:
                wrong.append("success, but it left something else")
        wrong += self.left_over(folder)
        # without descriptors, or any more memory, nothing can be removed at once
        if killed or kind.calls == "open" or kind is KINDS["alloc_on"]:
            wrong = [text for text in wrong if not text.startswith("left:")]
            self.start(["--version"], folder, None)
            wrong += [f"after the next start: {path.name[:9]}X"
                      for path in folder.rglob(".llmprof-*") if path.is_dir()]
        # what has done its work may refuse to do it again
        done = outcome.status == 0 or expected[1] == command.kept(folder) is not None
        if done and command.after is command.words:
            return wrong
        return wrong + self.judge_after(command, folder, expected)

    def judge_after(self, command: Command, folder: Path, expected: Expected) -> List[str]:
        after = self.start(command.after(folder), folder, None, command.said)
        wrong = []
        if after.status and (command.after is command.words or (folder / "o").is_dir()):
            wrong.append(f"afterwards: {after.err.decode('utf-8', 'replace').strip()[-160:]}")
        elif after.status == 0 and command.kept(folder) != expected[1]:
            wrong.append("afterwards: it left something else")
        return wrong + [f"afterwards: {text}" for text in self.left_over(folder)]

    # ---- all of it ----

    def fail_everywhere(self, name: str, kind_name: str, first: int, every: int) -> None:
        command, kind = COMMANDS[name], KINDS[kind_name]
        if name == "collect" and not (built / "lib/libllmprof_collector.so").is_file():
            print("skipped: collect, the collector is not built")
            return
        folder = self.fresh(command)
        whole = self.start(command.words(folder), folder, (kind, 0), command.said)
        if whole.status == SKIPPED:
            print(f"skipped: {kind_name}")
            sys.exit(SKIPPED)
        if whole.status:
            sys.exit(f"{name}: {whole.err.decode('utf-8', 'replace')}")
        expected = (whole.out.replace(str(folder).encode(), b"FOLDER"), command.kept(folder))
        found: Counter = Counter()
        example: Dict[str, int] = {}
        runs = 0
        for number in range(first, whole.count + 1, every):
            folder = self.fresh(command)
            outcome = self.start(command.words(folder), folder, (kind, number), command.said)
            runs += 1
            for text in set(self.judge(command, folder, outcome, expected, kind)):
                found[text] += 1
                example.setdefault(text, number)
        self.counts[kind_name] += runs
        print(f"{kind_name:13} {name:11} {runs:6} of {whole.count:9}  "
              f"findings {sum(found.values())}", flush=True)
        for text, times in found.most_common():
            self.findings.append(f"{kind_name} {name} N={example[text]}: {text} ({times})")
            print("    " + self.findings[-1], flush=True)


# Kinds, commands and the step between two N of the sample.
SAMPLE = [
    ("write_enospc,write_short,rename,sync", "export,scrub", 1),
    ("write_eio,open,kill", "export,scrub", 9),
    ("open", "clean", 41),
    ("kill", "run,record,baseline,clean", 61),
    ("kill", "ranks_out,collect,mcp", 29),
    ("full", "export,scrub,run", 60000),
    ("alloc,alloc_on", "version,export", 401),
]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("build", type=Path)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--sample", action="store_true")
    return parser.parse_args()


def main() -> int:
    global built
    given = arguments()
    built = given.build.resolve()
    campaign = Campaign(given.program, given.build.resolve())
    try:
        for kinds, commands, every in (SAMPLE if given.sample else
                                       [(given.kinds, given.commands, given.every)]):
            for kind in kinds.split(","):
                for command in commands.split(","):
                    campaign.fail_everywhere(command, kind, given.first, every)
    finally:
        shutil.rmtree(campaign.top, ignore_errors=True)
    print(f"{sum(campaign.counts.values())} runs, {len(campaign.findings)} findings")
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
