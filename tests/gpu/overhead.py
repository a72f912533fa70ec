#!/usr/bin/env python3
"""What the timeline adds to a launch: llmprof's collector and nsys, side by side on one GPU.

    tests/gpu/overhead.py [--llmprof PROGRAM] [--nsys PROGRAM] [--seconds S] [--json FILE]
                          [--programs NAME,... [--turns N] [--without WORD,...]]

Processes differ by more than profilers do, so each process measures itself with the profiler's
window closed and open in turn (overhead.cu, made with nvcc unless --program names it), and what
is added is the difference within each process. Tools take turns until S seconds are over. The
table has the least and the median of all parts of rounds, then what the window adds: the median
over processes of the difference of their medians, and of their least. `plain` has no tool at
all. The launching thread has a processor of its own: everything else that this starts stays off
it. How much of what nsys adds the collector adds, above a closed window and above no tool, is
said with the range that nine in ten of 2,000 draws of the processes give: a ratio is known no
better than that.

With --programs it measures those of programs.py and nothing else: --turns processes of each tool
load together, --at-once of them. Then one process of each tool does a round, one after the other,
in random order: that is a cycle, and the next cycle is of the next processes. A round is a prompt
and --tokens tokens; short ones put what is compared close together, since the host is slow for some
seconds and fast for others. Cycles go on for S seconds with each program. The table has quartiles
of the rounds. What a tool adds is the median, over cycles, of how far its round lies above that of
no tool. Ranges are of nine in ten of 2,000 draws of cycles. --without leaves out tools.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, Optional, Sequence, TextIO, Tuple, TypeVar

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE = re.compile(r"^(eager|graph) (closed|open) (\d+) ([0-9.]+)$", re.MULTILINE)
NSYS = ["--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"]
KERNELS = 200  # of a graph
Item = TypeVar("Item")
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


def shell(words: List[str], folder: str) -> str:
    """What it prints."""
    done = subprocess.run(words, cwd=folder, text=True, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


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
    def collector(graphs: str) -> List[str]:
        return [args.llmprof, "collect", "-o", "run.spool", "-p", "unit.by=profiler",
                "-p", f"graphs={graphs}", "--"]

    def nsys(graphs: str) -> List[str]:
        return [args.nsys, "profile", *NSYS, "--output=run", f"--cuda-graph-trace={graphs}",
                "--capture-range=cudaProfilerApi", "--capture-range-end=repeat"]

    return {"plain": [], "collector, nodes": collector("node"), "nsys, nodes": nsys("node"),
            "collector, whole graphs": collector("graph"), "nsys, whole graphs": nsys("graph")}


def measured(words: List[str], rounds: int) -> Rounds:
    """Of one process."""
    with tempfile.TemporaryDirectory() as folder:
        text = shell(words, folder)
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


Dice = Optional[random.Random]
DRAWS = 2000


def some(of: Sequence[Item], dice: Dice) -> Sequence[Item]:
    """As many of them, drawn; without dice all."""
    return dice.choices(of, k=len(of)) if dice else of


def nine_in_ten(values: List[float]) -> Tuple[float, float]:
    values = sorted(values)
    return values[len(values) // 20], values[-len(values) // 20]


def share(added: Callable[[Dice], Tuple[float, float]]) -> str:
    """Of what the collector adds and what nsys does: the ratio, and the range of nine in ten
    draws."""
    dice = random.Random(1)
    draws = [added(dice) for _ in range(DRAWS)]
    if nine_in_ten([nsys for _, nsys in draws])[0] <= 0:
        return "what nsys adds cannot be told from nothing"
    low, high = nine_in_ten([ours / nsys if nsys > 0 else math.inf for ours, nsys in draws])
    collector, nsys = added(None)
    return f"{collector / nsys:.2f}, {low:.2f} to {high:.2f}"


def ratio(found: Dict[str, List[Rounds]], kind: str, collector: str) -> str:
    """By the medians of processes: open windows above closed ones, and above no tool."""
    nsys = f"nsys, {collector.split(', ')[1]}"
    if not all(found.get(name) for name in (collector, nsys, "plain")):
        return f"{collector}: not measured"
    within = {name: [added_by(p, kind, statistics.median) for p in found[name]]
              for name in (collector, nsys)}
    opened = {name: [statistics.median(p[kind, "open"]) for p in found[name]]
              for name in (collector, nsys, "plain")}

    def above_closed(dice: Dice) -> Tuple[float, float]:
        ours, theirs = (statistics.median(some(within[name], dice)) for name in (collector, nsys))
        return ours, theirs

    def above_plain(dice: Dice) -> Tuple[float, float]:
        plain, ours, theirs = (statistics.median(some(opened[name], dice))
                               for name in ("plain", collector, nsys))
        return ours - plain, theirs - plain

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


# ---- programs as people run them ----

class Guest:
    """A process that does a round of programs.py when it is told to."""

    def __init__(self, tool: str, words: List[str], env: Dict[str, str]):
        self.tool, self.folder = tool, tempfile.mkdtemp()
        self.said: Optional[TextIO] = None
        self.log = open(f"{self.folder}/log", "w+b")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            words, cwd=self.folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)

    def hear(self) -> str:
        try:
            line = self.said.readline() if self.said else ""
        except OSError:
            line = ""
        if line:
            return line.strip()
        self.log.seek(0)
        raise Failed(f"gone\n{self.log.read()[-2000:].decode(errors='replace')}")

    def say(self, word: str) -> None:
        assert self.said
        self.said.write(word + "\n")
        self.said.flush()

    def end(self, seconds: float = 0) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.said:
            self.said.close()  # who is in another group ends by it
        self.process.wait()
        self.log.close()


FLOOR, LIGHT = "CUPTI's kernel records, dropped", "collector, `timeline=kernels`"


def around(args: argparse.Namespace, folder: str) -> Dict[str, Tuple[List[str], Dict[str, str]]]:
    """Of each tool, the words before the program's and its variables."""
    def collector(*more: str) -> Tuple[List[str], Dict[str, str]]:
        plan = [word for item in more for word in ("-p", item)]
        return [args.llmprof, "collect", "-o", "run.spool", *plan, "--"], {}

    floor = args.floor or os.path.join(folder, "floor.so")
    if not args.floor:
        shell([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-I/usr/local/cuda/include",
               "-o", floor, str(ROOT / "tests/gpu/floor.c"), "-ldl"], folder)
    ways = {
        "no tool": ([], {}),
        FLOOR: ([], {"CUDA_INJECTION64_PATH": os.path.abspath(floor)}),
        LIGHT: collector("timeline=kernels"),
        "collector, `sources=off`": collector("sources=off"),
        "collector": collector(),
        "nsys": ([args.nsys, "profile", *NSYS, "--output=run", "--cuda-graph-trace=node"], {}),
        "torch.profiler": ([], {}),
    }
    left_out = args.without.split(",") if args.without else []
    return {name: way for name, way in ways.items()
            if not any(word in name for word in left_out)}


def gather(server: socket.socket, guests: List[Guest], seconds: float) -> None:
    """Connect those that come in time."""
    end = time.monotonic() + seconds
    while not all(one.said or one.process.poll() is not None for one in guests):
        server.settimeout(max(0.1, end - time.monotonic()))
        try:
            said = server.accept()[0]
        except TimeoutError:
            return
        said.settimeout(120)
        lines = said.makefile("rw")
        guests[int(lines.readline())].said = lines


Cycles = Dict[str, List[float]]  # of each tool, the round of each cycle, ms


def in_turns(guests: List[Guest], seconds: float) -> Cycles:
    """Cycles of one process of each tool, nobody else at work, until time is up. A tool of which a
    process fails is left out."""
    dice = random.Random(1)
    of_tool: Dict[str, List[Guest]] = {}
    for guest in guests:
        of_tool.setdefault(guest.tool, []).append(guest)
    found: Cycles = {tool: [] for tool in of_tool}
    processes = min(map(len, of_tool.values()))

    def each(number: int, do: Callable[[Guest], None]) -> None:
        for tool in dice.sample(list(found), len(found)):
            try:
                do(of_tool[tool][number])
            except (Failed, OSError) as failure:
                complain(Failed(f"{tool}: {failure}"))
                del found[tool]

    def turn(guest: Guest) -> None:
        guest.say("go")
        found[guest.tool].append(1e3 * float(guest.hear()))

    def get_ready(guest: Guest) -> None:
        guest.hear()

    for number in range(processes):
        each(number, get_ready)
    begun, cycles = time.monotonic(), 0
    while found and (cycles < 3 * processes or time.monotonic() - begun < seconds):
        each(cycles % processes, turn)
        cycles += 1
    for number in range(processes):
        each(number, lambda guest: guest.say("next"))
    return {tool: rounds[processes:] for tool, rounds in found.items()}  # without cold ones


LAUNCHES = """
local at, ended, text = ranges:values "start", ranges:values "end", ranges:values "text"
local start, name, rounds = api:values "start", api:values "name", {}
for i = 1, #ranges do
  if text[i]:find "^round " then
    local n, g = 0, 0
    for j = 1, #api do
      local launches = start[j] >= at[i] and start[j] < ended[i] and name[j]:find "Launch"
      if launches and name[j]:find "GraphLaunch" then g = g + 1 elseif launches then n = n + 1 end
    end
    rounds[text[i]] = ("%s\\t%d launches, %d of graphs"):format(text[i]:sub(7), n, g)
  end
end
for _, said in pairs(rounds) do print(said) end
"""


def added_ms(one: Cycles, tool: str, above: str, dice: Dice) -> float:
    """What the tool adds to a round, above another."""
    pairs = list(zip(one[tool], one[above]))
    return statistics.median(ours - theirs for ours, theirs in some(pairs, dice))


def of_nsys(all_of: List[Cycles], tool: str) -> str:
    """What the tool adds to all of these, of what nsys does, and the range of nine in ten draws."""
    if tool in ("no tool", "nsys") or not all("nsys" in one for one in all_of):
        return ""

    def added(dice: Dice) -> Tuple[float, float]:
        ours, theirs = (sum(added_ms(one, name, "no tool", dice) for one in all_of)
                        for name in (tool, "nsys"))
        return ours, theirs

    return share(added)


def in_us(all_of: List[Cycles], tool: str, above: str, launches: int) -> str:
    """What the tool adds to a launch of these, and the range of nine in ten draws."""
    dice = random.Random(1)

    def added(dice: Dice) -> float:
        return 1e3 / launches * sum(added_ms(one, tool, above, dice) for one in all_of)

    low, high = nine_in_ten([added(dice) for _ in range(DRAWS)])
    return f"{added(None):.2f}, {low:.2f} to {high:.2f}"


def show_added(all_of: List[Cycles], launches: int) -> None:
    print("\n| | of nsys | µs a launch |\n|---|---|---|")
    for tool in [tool for tool in all_of[0] if all(tool in one for one in all_of)]:
        if tool != "no tool":
            each = in_us(all_of, tool, "no tool", launches) if launches else ""
            print(f"| {tool} | {of_nsys(all_of, tool)} | {each} |", flush=True)
    if launches and all(FLOOR in one and LIGHT in one for one in all_of):
        print(f"\n{LIGHT} above {FLOOR}: {in_us(all_of, LIGHT, FLOOR, launches)} µs a launch")


def show_program(name: str, cycles: Cycles, launches: int) -> None:
    print(f"\n{name}" + (f", {launches} launches a round" if launches else ""))
    print("\n| | rounds | ms: quartiles |\n|---|---|---|")
    for tool, rounds in cycles.items():
        low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
        print(f"| {tool} | {len(rounds)} | {low:.1f}, {middle:.1f}, {high:.1f} |")
    show_added([cycles], launches)


def show_programs(kept: Dict[str, Cycles], launches: Dict[str, Tuple[int, int]]) -> None:
    eager = []
    for name, cycles in kept.items():
        single, graphs = launches.get(name, (0, 0))
        whole = {tool: each for tool, each in cycles.items()
                 if len(each) == max(map(len, cycles.values()))}
        if "no tool" not in whole:
            continue
        show_program(name, whole, 0 if graphs else single)
        eager += [(whole, single)] if single and not graphs else []
    if len(eager) > 1:
        print("\ntogether")
        show_added([whole for whole, _ in eager], sum(single for _, single in eager))


def launches_in(args: argparse.Namespace, guest: Guest) -> Dict[str, Tuple[int, int]]:
    """Of a round of each program, by a recording: single ones and those of graphs."""
    guest.end(60)
    text = shell([args.llmprof, "--no-cache", "-e", LAUNCHES, "run.spool"], guest.folder)
    return {name: (int(single), int(graphs)) for name, single, graphs in re.findall(
        r"^(\w+)\t(\d+) launches, (\d+) of graphs$", text, re.MULTILINE)}


def programs(args: argparse.Namespace) -> None:
    names = args.programs.split(",")
    kept: Dict[str, Cycles] = {name: {} for name in names}
    launches: Dict[str, Tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/socket")
        server.listen(100)
        ways = around(args, folder)
        for begun in range(0, args.turns, args.at_once):
            guests: List[Guest] = []
            for tool, (before, env) in list(ways.items()) * min(args.at_once, args.turns - begun):
                work = ["python3", str(ROOT / "tests/gpu/programs.py"), f"{folder}/socket",
                        str(len(guests)), args.programs, "--tokens", str(args.tokens)]
                guests.append(Guest(tool, [*before, *work, *["--torch"] * (tool[0] == "t")], env))
            try:
                gather(server, guests, 240)
                for name in names:
                    for tool, cycles in in_turns(
                            guests, args.seconds * len(guests) / len(ways) / args.turns).items():
                        kept[name].setdefault(tool, []).extend(cycles)
                    if args.json:
                        pathlib.Path(args.json).write_text(json.dumps(kept), encoding="utf-8")
                    print(f"{name}: {len(guests)} processes", file=sys.stderr, flush=True)
                if begun == 0:
                    try:
                        ours = next(one for one in guests if one.tool == "collector")
                        launches = launches_in(args, ours)
                    except Failed as failure:
                        complain(failure)
            finally:
                for guest in guests:
                    guest.end()
                    shutil.rmtree(guest.folder, ignore_errors=True)
    show_programs(kept, launches)


# ---- main ----

def described(args: argparse.Namespace) -> None:
    for words in (["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                  [args.nsys, "--version"], [args.llmprof, "--version"]):
        print(" ".join(shell(words, "/").split()))
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
    parser.add_argument("--tokens", type=int, default=8, help="of a round (8)")
    parser.add_argument("--without", metavar="WORD,...", help="tools with a WORD in their names")
    parser.add_argument("--turns", type=int, default=5, help="processes of each tool (5)")
    parser.add_argument("--at-once", type=int, default=5, help="of them, loaded together (5)")
    parser.add_argument("--floor", help="floor.c, compiled")
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
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
