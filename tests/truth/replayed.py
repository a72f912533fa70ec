#!/usr/bin/env python3
"""Predictions of `llmprof whatif`, recomputed: a small replay of an export of one thread and one
stream, written apart from core/replay.

    tests/truth/replayed.py PROGRAM RECORDING...
    tests/truth/replayed.py --ledger PREDICTIONS.json EXPORT...

Recordings are of tests/diagnosis, without a suffix; their steps are ranges of one name. Prints the
gains of a step, ours and its own, in ms; the exit status is 1 where they differ by more than a
tenth and 1 % of a step.

Exports of the ledger (NAME.sqlite of the run NAME, `llmprof export RUN -f sqlite`) are held against
its predictions, those of the changes that this replay knows, with the CPU as much faster as makes
a step take what it took without the profiler.
"""
import collections
import json
import lzma
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from typing import Callable, Counter, Dict, List, NamedTuple, Optional, Set, Tuple

APART = 1000000  # ns between steps of two runs
CAPTURES = pathlib.Path(__file__).resolve().parent.parent / "diagnosis" / "captures"
STEP = "decode_step"
QUEUED = 2000  # ns after the one before: an operation that was waiting for it


class Op(NamedTuple):
    start: int
    end: int
    name: str


class Call(NamedTuple):
    start: int
    end: int
    name: str
    ops: List[Op]


def load(path: str) -> Tuple[List[Call], List[Tuple[int, int]]]:
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    names = dict(base.execute("SELECT id, value FROM StringIds"))
    ops: Dict[int, List[Op]] = {}
    for table, name in (("KERNEL", "demangledName"), ("MEMCPY", "0"), ("MEMSET", "0")):
        for start, end, number, text in base.execute(
                f"SELECT start, end, correlationId, {name} FROM CUPTI_ACTIVITY_KIND_{table}"):
            ops.setdefault(number, []).append(Op(start, end, names.get(text, "copy")))
    calls: List[Call] = []
    for start, end, name, number in base.execute(
            "SELECT start, end, nameId, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME"
            " ORDER BY start, end DESC"):
        own = sorted(ops.get(number, []))
        if calls and start < calls[-1].end:  # within another
            calls[-1].ops.extend(own)
        else:
            calls.append(Call(start, end, names[name], own))
    steps = list(base.execute("SELECT start, end FROM NVTX_EVENTS LEFT JOIN StringIds"
                              " ON textId = id WHERE coalesce(text, value) = ? ORDER BY start",
                              (STEP,)))
    return calls, steps


class Change(NamedTuple):
    work: Callable[[str, bool], float] = lambda name, inside: 1.0
    cpu: float = 1.0      # in steps
    waits: bool = True    # in steps
    graph: bool = False   # of steps, without the profiler


LAUNCH, BETWEEN = 15000.0, 330.0  # of a graph, and of two operations in it
REPEATED = 12  # a kernel that runs as often in a step is in its graph


class Replay:
    """What is given of a trace: gaps, calls' own time, latencies and lags."""

    def __init__(self, calls: List[Call], steps: List[Tuple[int, int]]):
        self.calls, self.steps = calls, steps
        self.inside, at = [], 0
        for call in calls:
            while at + 1 < len(steps) and call.start >= steps[at + 1][0]:
                at += 1
            within = steps[0][0] <= call.start < steps[-1][1] and call.start < steps[at][1]
            self.inside.append(at if within else None)
        last, lags, latencies = 0, [], []
        for call in calls:
            for i, op in enumerate(call.ops):
                if last and op.start - last <= QUEUED:
                    lags.append(op.start - last)
                elif i == 0 and op.start > call.end:
                    latencies.append(op.start - call.end)
                last = max(last, op.end)
        self.lag = statistics.median(lags) if lags else 1100
        self.latency = statistics.median(latencies) if latencies else 2000

    def graphs(self) -> Tuple[Set[int], Set[int]]:
        """The calls that launch a graph in place of a step's, and those that it replaces."""
        named: Dict[int, Counter[str]] = {}
        for call, step in zip(self.calls, self.inside):
            if step is not None and call.ops:
                named.setdefault(step, collections.Counter())[call.ops[0].name] += 1
        ends: Dict[int, List[int]] = {}
        for i, (call, step) in enumerate(zip(self.calls, self.inside)):
            if step is not None and call.ops and call.ops[0].name != "copy" \
                    and call.start < self.steps[step][1] \
                    and named[step][call.ops[0].name] >= REPEATED:
                ends.setdefault(step, [i, i])[1] = i
        return ({first for first, _ in ends.values()},
                {i for first, last in ends.values() for i in range(first + 1, last + 1)})

    def run(self, change: Change) -> List[float]:
        """Times of steps, each from when the one before was done."""
        firsts, replaced = self.graphs() if change.graph else (set(), set())
        now = was = float(self.calls[0].start)
        gpu_now = gpu_was = 0.0
        done: Dict[int, float] = {}
        for number, (call, step) in enumerate(zip(self.calls, self.inside)):
            cpu = 0.0 if number in replaced else change.cpu if step is not None else 1.0
            start = now + (call.start - was) * cpu
            waits = "Synchronize" in call.name
            blocks = bool(call.ops) and "Memcpy" in call.name and call.end >= call.ops[-1].end
            length = float(call.end - call.start)
            if waits:  # what it takes after what it waits for, or by itself
                own = min(length, 3000.0)
                end = start + own
                if gpu_was > call.start and call.end >= gpu_was:
                    end = max(start + min(own, call.end - gpu_was), gpu_now + call.end - gpu_was)
                if step is not None and not change.waits:
                    end = start
            else:
                end = start + (LAUNCH if number in firsts else length * cpu)
            for i, op in enumerate(call.ops):
                queued = op.start - gpu_was <= QUEUED
                launched = start + (op.start - call.start) if blocks and not queued else (
                    end + (op.start - call.end) if not queued else
                    (start if op.start < call.end else end) + min(
                        self.latency, max(op.start - call.end, 0)))
                after = gpu_now + (op.start - gpu_was if queued else self.lag)
                if number in replaced:
                    launched, after = start, gpu_now + BETWEEN
                begin = after if i else max(launched, after)
                gpu_now = begin + (op.end - op.start) * change.work(op.name, step is not None)
                gpu_was = op.end
            if blocks and not (step is not None and not change.waits):
                end = gpu_now + (call.end - call.ops[-1].end)
            now, was = end, call.end
            if step is not None:
                done[step] = max(now, gpu_now) if call.ops or waits else max(
                    done.get(step, 0), now)
        return [done[step] - done[step - 1] for step in sorted(done)
                if step - 1 in done and self.steps[step][0] - self.steps[step - 1][1] < APART]


def mean(values: List[float]) -> float:
    return sum(values) / len(values) / 1e6


def ours(program: str, path: str, change: str) -> Optional[float]:
    said = json.loads(subprocess.run([program, "whatif", path, change, "--json"], check=True,
                                     capture_output=True, text=True).stdout)
    row = next(row for row in said["stages"] if row["stage"] == "decode")
    return row["gain_ns"] / 1e6 if "gain_ns" in row else None


CHANGES = (
    ('scale(kernels:where { stage = "decode", name = { "~", "nvjet" } }, 0.5)',
     Change(work=lambda name, inside: 0.5 if inside and "nvjet" in name else 1.0)),
    ('remove(syncs "decode")', Change(waits=False)),
    ('scale(cpu "decode", 0.5)', Change(cpu=0.5)))


def is_alike(program: str, path: str) -> bool:
    replay, alike = Replay(*load(path)), True
    before = replay.run(Change())
    print(f"a step takes {mean(before):.4f} ms")
    for text, change in CHANGES:
        own, said = mean(before) - mean(replay.run(change)), ours(program, path, text)
        print(f"{text}: ours {said}, its own {own:.4f}")
        alike &= said is not None and abs(own - said) <= 0.1 * abs(own) + 0.01 * mean(before)
    return alike


def fitted(replay: Replay, wanted: float) -> float:
    """How much faster the CPU is, as a factor, if a step takes that many ms."""
    low, high = 0.2, 2.0
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (low, middle) if mean(replay.run(Change(cpu=middle))) > wanted else (
            middle, high)
    return (low + high) / 2


def holds(predictions: str, paths: List[str]) -> bool:
    """Are predictions of the ledger what this replay says, too?"""
    said = json.loads(pathlib.Path(predictions).read_text(encoding="utf-8"))["predictions"]
    known = {'graphs("decode")': Change(graph=True), 'remove(syncs "decode")': Change(waits=False)}
    alike = True
    for path in paths:
        replay, name = Replay(*load(path)), pathlib.Path(path).stem
        for one in said:
            change = known.get(one["change"])
            if one["before"] != name or not change or "now_ns" not in one or not one["plain"]:
                continue
            now, ours_ms = one["now_ns"] / 1e6, one["predicted_ns"] / 1e6
            own = mean(replay.run(change._replace(cpu=fitted(replay, now))))
            print(f"{name} {one['change']}: {now:.3f} ms before, predicted {ours_ms:.3f}, "
                  f"its own {own:.3f}")
            alike &= abs(own - ours_ms) <= 0.1 * abs(now - ours_ms) + 0.01 * now
    return alike


def main() -> None:
    if sys.argv[1] == "--ledger":
        sys.exit(0 if holds(sys.argv[2], sys.argv[3:]) else 1)
    alike = True
    for name in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{name}.sqlite"
            path.write_bytes(lzma.decompress((CAPTURES / f"{name}.sqlite.xz").read_bytes()))
            print(name)
            alike &= is_alike(sys.argv[1], str(path))
    sys.exit(0 if alike else 1)


if __name__ == "__main__":
    main()
