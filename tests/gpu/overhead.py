#!/usr/bin/env python3
"""What the timeline adds to a launch: llmprof's collector and nsys, side by side on one GPU.

    tests/gpu/overhead.py [--llmprof PROGRAM] [--nsys PROGRAM] [--seconds S] [--json FILE]
                          [--cupti VERSION=LIBRARY ...] [--programs NAME,... [--turns N]]

Processes differ by more than profilers do, so each process measures itself with the profiler's
window closed and open in turn (overhead.cu, made with nvcc unless --program names it), and what
is added is the difference within each process. Tools take turns until S seconds are over. The
table has the least and the median of all parts of rounds, then what the window adds: the median
over processes of the difference of their medians, and of their least. `plain` has no tool at
all. The launching thread has a processor of its own: everything else that this starts stays off
it. How much of what nsys adds the collector adds, above a closed window and above no tool, is
said with the range that nine in ten of 4,000 draws of the processes give: a ratio is known no
better than that.

--cupti adds the collector with another libcupti, nodes only, for each that is named.

With --programs it measures those of programs.py and nothing else: each tool has a process of its
own in each turn, one after the other, and the table has quartiles of all their rounds.

The last table is of runs without windows: from the program's end (it writes when that is) until
the tool is done, and until four reports are written.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE = re.compile(r"^(eager|graph) (closed|open) (\d+) ([0-9.]+)$", re.MULTILINE)
REPORTS = "cuda_api_sum,cuda_gpu_kern_sum,cuda_gpu_kern_gb_sum,cuda_kern_exec_sum"
NSYS = ["--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"]
KERNELS = 200  # of a graph
# Of a process: window state by kind of launch, us.
Rounds = Dict[Tuple[str, str], List[float]]


# ---- programs ----

def find(given: Optional[str], name: str, *patterns: str) -> str:
    """The program that was named, or the first that is there."""
    for path in [given] if given else [path for p in patterns for path in sorted(glob.glob(p))]:
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
    found = None if given else shutil.which(name)
    if not found:
        sys.exit(f"overhead.py: no {given or name}")
    return found


def compiled(given: Optional[str], folder: str) -> str:
    if given:
        return find(given, "overhead")
    nvcc = find(None, "nvcc", "/usr/local/cuda/bin/nvcc")
    program = os.path.join(folder, "overhead")
    subprocess.run([nvcc, "-O2", "-std=c++17", "-arch=native", "-o", program,
                    str(ROOT / "tests/gpu/overhead.cu")], check=True)
    return program


class Failed(Exception):
    """A tool that did not do what it was asked for; the others are measured all the same."""


def shell(words: List[str], folder: str) -> Tuple[str, float]:
    """What it prints, and the clock when it is done."""
    done = subprocess.run(words, cwd=folder, text=True, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ended = time.clock_gettime(time.CLOCK_MONOTONIC)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout, ended


def stay_off(cpu: int) -> None:
    """This process, and what it starts from now on, where there is another processor."""
    rest = os.sched_getaffinity(0) - {cpu}
    if rest:
        os.sched_setaffinity(0, rest)


failures = 0


def complain(failure: Failed) -> None:
    global failures
    failures += 1
    print(f"overhead.py: {failure}", file=sys.stderr)


# ---- launches ----

def tools(args: argparse.Namespace) -> Dict[str, List[str]]:
    """Of each tool, the words before the program's."""
    def collector(graphs: str, *more: str) -> List[str]:
        plan = [word for item in ("unit.by=profiler", f"graphs={graphs}", *more)
                for word in ("-p", item)]
        return [args.llmprof, "collect", "-o", "run.spool", *plan, "--"]

    def nsys(graphs: str) -> List[str]:
        return [args.nsys, "profile", *NSYS, "--output=run", f"--cuda-graph-trace={graphs}",
                "--capture-range=cudaProfilerApi", "--capture-range-end=repeat"]

    ways = {"plain": [], "collector, nodes": collector("node"), "nsys, nodes": nsys("node"),
            "collector, whole graphs": collector("graph"), "nsys, whole graphs": nsys("graph")}
    for version, library in args.cupti:
        ways[named(version)] = collector("node", f"cupti={library}")
    return ways


def named(version: str) -> str:
    return f"collector, nodes, CUPTI {version}"


def measured(words: List[str], rounds: int) -> Rounds:
    """Of one process."""
    with tempfile.TemporaryDirectory() as folder:
        text, _ = shell(words, folder)
    found: Rounds = {}
    for kind, window, _, value in LINE.findall(text):
        found.setdefault((kind, window), []).append(float(value))
    counts = [len(found.get((kind, window), [])) for kind in ("eager", "graph")
              for window in ("closed", "open")]
    if counts[0] < rounds or counts[2] < rounds or counts[::2] != counts[1::2]:
        raise Failed(f"{' '.join(words)}: not {rounds} rounds\n{text}")
    return found


def in_turn(args: argparse.Namespace, program: str) -> Dict[str, List[Rounds]]:
    """Rounds of each process of each tool, as many as there is time for."""
    begun, longest = time.monotonic(), 0.0
    ways = tools(args)
    found: Dict[str, List[Rounds]] = {name: [] for name in ways}
    words = [program, *map(str, (args.rounds, args.launches, args.replays, KERNELS, args.ns,
                                 args.cpu))]
    while ways and (longest == 0 or time.monotonic() - begun + longest < args.seconds):
        turn = time.monotonic()
        for name in list(ways):
            try:
                found[name].append(measured(ways[name] + words, args.rounds))
            except Failed as failure:
                complain(failure)
                del ways[name]
        longest = max(longest, time.monotonic() - turn)
        print(f"{time.monotonic() - begun:.1f} s: all took their turn", file=sys.stderr)
    return {name: processes for name, processes in found.items() if processes}


def added_by(process: Rounds, kind: str, best: Callable[[List[float]], float]) -> float:
    return best(process[kind, "open"]) - best(process[kind, "closed"])


def share(added: Callable[[Callable[[List[float]], float]], Tuple[float, float]]) -> str:
    """Of what the collector adds and what nsys does: the ratio, and the range of nine in ten
    draws of the processes."""
    dice = random.Random(1)
    draws = [added(lambda of: statistics.median(dice.choices(of, k=len(of))))
             for _ in range(4000)]
    if min(nsys for _, nsys in draws) <= 0:
        return "what nsys adds cannot be told from nothing"
    ratios = sorted(collector / nsys for collector, nsys in draws)
    collector, nsys = added(statistics.median)
    return f"{collector / nsys:.2f}, {ratios[200]:.2f} to {ratios[-200]:.2f}"


def ratio(found: Dict[str, List[Rounds]], kind: str, collector: str) -> str:
    """By the medians of processes: open windows above closed ones, and above no tool."""
    nsys = f"nsys, {collector.split(', ')[1]}"
    if not all(found.get(name) for name in (collector, nsys, "plain")):
        return f"{collector}: not measured"
    within = {name: [added_by(p, kind, statistics.median) for p in found[name]]
              for name in (collector, nsys)}
    opened = {name: [statistics.median(p[kind, "open"]) for p in found[name]]
              for name in (collector, nsys, "plain")}

    def above_closed(best: Callable[[List[float]], float]) -> Tuple[float, float]:
        return best(within[collector]), best(within[nsys])

    def above_plain(best: Callable[[List[float]], float]) -> Tuple[float, float]:
        plain = best(opened["plain"])
        return best(opened[collector]) - plain, best(opened[nsys]) - plain

    return (f"{collector}, of nsys: {share(above_closed)}, above a closed window; "
            f"{share(above_plain)}, above no tool")


def row(name: str, processes: List[Rounds], kind: str) -> str:
    cells = []
    for window in ("closed", "open"):
        values = [value for p in processes for value in p[kind, window]]
        cells.append(f"{min(values):.3f}, {statistics.median(values):.3f}")
    for best in (statistics.median, min):
        added = [added_by(p, kind, best) for p in processes]
        share = statistics.median(a / best(p[kind, "closed"]) for a, p in zip(added, processes))
        cells.append(f"{statistics.median(added):.3f} ({100 * share:+.1f} %), "
                     f"{min(added):.3f} to {max(added):.3f}")
    return f"| {name} | " + " | ".join(cells) + " |"


def show(found: Dict[str, List[Rounds]], kind: str, title: str) -> None:
    print(f"\n{title}\n\n| | closed: least, median | open: least, median | "
          "added, of medians | added, of least |\n|---|---|---|---|---|")
    for name, processes in found.items():
        print(row(name, processes, kind))
    print("\n" + "\n".join(ratio(found, kind, name) for name in found
                           if name.startswith("collector")))


def keep(found: Dict[str, List[Rounds]], path: str) -> None:
    each = {name: [{" ".join(key): values for key, values in p.items()} for p in processes]
            for name, processes in found.items()}
    pathlib.Path(path).write_text(json.dumps(each), encoding="utf-8")


# ---- reports ----

def one_to_reports(before: List[str], work: List[str], reports: List[str]) -> Tuple[float, float]:
    """From the program's end until the tool is done, and until reports are there."""
    with tempfile.TemporaryDirectory() as folder:
        _, taken = shell([*before, *work, "end"], folder)
        ended = int(pathlib.Path(folder, "end").read_text(encoding="ascii")) / 1e9
        text, reported = shell(reports, folder)
        written = [r for r in glob.glob(folder + "/r_*.csv") if os.path.getsize(r)]
    if len(written) != REPORTS.count(",") + 1:
        raise Failed(f"{' '.join(reports)}: {len(written)} reports\n{text}")
    return taken - ended, reported - ended


def to_reports(args: argparse.Namespace, program: str) -> None:
    print("\n| from the program's end | tool is done, s | four reports, s |\n|---|---|---|")
    work = [program, *map(str, (0, 5 * args.launches, args.replays, KERNELS, args.ns, args.cpu))]
    ways = {
        "collector": ([args.llmprof, "collect", "-o", "run.spool", "--"],
                      [args.llmprof, "stats", "-f", "csv", "-o", "r", "-r", REPORTS, "run.spool"]),
        "nsys": ([args.nsys, "profile", *NSYS, "--output=run", "--cuda-graph-trace=node"],
                 [args.nsys, "stats", "-q", "-f", "csv", "-o", "r", "-r", REPORTS,
                  "run.nsys-rep"]),
    }
    for name, (before, reports) in ways.items():
        try:
            done, reported = one_to_reports(before, work, reports)
            print(f"| {name} | {done:.2f} | {reported:.2f} |", flush=True)
        except Failed as failure:
            complain(failure)


# ---- programs as people run them ----

ROUND = re.compile(r"^round ([0-9.]+)$", re.MULTILINE)


def around(args: argparse.Namespace, name: str) -> Dict[str, List[str]]:
    """Of each tool, all words."""
    work = ["python3", str(ROOT / "tests/gpu/programs.py"), name]
    collect = [args.llmprof, "collect", "-o", "run.spool"]
    return {
        "no tool": work,
        "collector": [*collect, "--", *work],
        "collector, asked for nothing": [*collect, "-p", "units=plain", "--", *work],
        "collector, kernels alone": [*collect, "-p", "timeline=kernels", "--", *work],
        "nsys": [args.nsys, "profile", *NSYS, "--output=run", "--cuda-graph-trace=node", *work],
        "torch.profiler": [*work, "--torch"],
    }


def rounds_of(words: List[str]) -> List[float]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(words, cwd=folder, text=True, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = [1e3 * float(value) for value in ROUND.findall(done.stdout)]
    if not found:  # the exit status may be the tool's, which came to nothing afterwards
        raise Failed(f"{' '.join(words)}: no rounds\n{done.stdout[-2000:]}")
    return found


def programs(args: argparse.Namespace) -> None:
    kept: Dict[str, Dict[str, List[float]]] = {}
    for name in args.programs.split(","):
        ways = around(args, name)
        found: Dict[str, List[float]] = {tool: [] for tool in ways}
        for _ in range(args.turns):
            for tool in list(ways):
                try:
                    found[tool] += rounds_of(ways[tool])
                except Failed as failure:
                    complain(failure)
                    del ways[tool]
        kept[name] = found
        plain = statistics.median(found["no tool"])
        nsys = statistics.median(found["nsys"]) - plain if found["nsys"] else None
        print(f"\n{name}, {args.turns} processes each\n\n| | ms: quartiles | added, of nsys |\n"
              "|---|---|---|")
        for tool, values in found.items():
            if len(values) < 2:
                print(f"| {tool} | not measured | |")
                continue
            cuts = statistics.quantiles(values, n=4, method="inclusive")
            added = cuts[1] - plain
            of_nsys = f", {added / nsys:.2f}" if nsys and nsys > 0 else ""
            print(f"| {tool} | {cuts[0]:.1f}, {cuts[1]:.1f}, {cuts[2]:.1f} | "
                  f"{100 * added / plain:+.1f} %{of_nsys} |", flush=True)
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(kept), encoding="utf-8")


# ---- main ----

def described(args: argparse.Namespace) -> None:
    for words in (["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                  [args.nsys, "--version"], [args.llmprof, "--version"]):
        print(" ".join(shell(words, "/")[0].split()))
    print(f"rounds of {args.launches} launches and {args.replays} replays of {KERNELS} kernels of "
          f"{args.ns} ns, {args.rounds} in a process; launching thread on CPU {args.cpu}")


def options(words: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--llmprof")
    parser.add_argument("--nsys")
    parser.add_argument("--program", help="overhead.cu, compiled")
    parser.add_argument("--seconds", type=float, default=140, help="for launches (140)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--launches", type=int, default=20000)
    parser.add_argument("--replays", type=int, default=200)
    parser.add_argument("--ns", type=int, default=0, help="what a kernel takes, at least (0)")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)) - 1)
    parser.add_argument("--json", help="each figure, as JSON")
    parser.add_argument("--programs", metavar="NAME,...", help="of programs.py")
    parser.add_argument("--turns", type=int, default=5, help="processes of each tool (5)")
    parser.add_argument("--cupti", action="append", default=[], metavar="VERSION=LIBRARY",
                        type=lambda word: tuple(word.split("=", 1)))
    args = parser.parse_args(words)
    built = (str(ROOT / "build" / path) for path in ("*/portable/llmprof/llmprof", "*/bin/llmprof"))
    args.llmprof = find(args.llmprof, "llmprof", *built)
    args.nsys = find(args.nsys, "nsys",
                     "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")
    return args


def main(words: List[str]) -> int:
    args = options(words)
    described(args)
    if args.programs:
        programs(args)
        return 1 if failures else 0
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(args.program, folder)
        stay_off(args.cpu)
        found = in_turn(args, program)
        if args.json:
            keep(found, args.json)
        print("processes: " + ", ".join(f"{len(p)} {name}" for name, p in found.items()))
        show(found, "eager", "us per launch")
        show(found, "graph", "us per kernel of a graph")
        to_reports(args, program)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
