"""Steps of a serving engine by its labels: execute_context_2(1024)_generation_6(6)."""
import bisect
import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from capture import Capture, Op, length, union
from figures import Figures, mean, total_figures

LABEL = re.compile(r"execute_\d*_?context_(\d+)\(\w*\)_generation_(\d+)\((\w*)\)")
COMMUNICATION = re.compile(r"nccl|cross_device_reduce|all_?reduce|all_?gather|reduce_?scatter",
                           re.IGNORECASE)


@dataclass
class Step:
    process: int
    start: int
    phase: Optional[str]
    requests: int
    ops: List[Op] = field(default_factory=list)
    before: Optional[int] = None

    def first(self) -> int:
        return min(op.start for op in self.ops)

    def last(self) -> int:
        return max(op.end for op in self.ops)

    def begin(self) -> int:
        """When the GPU could begin it."""
        launched = min(op.call.start for op in self.ops if op.call)
        if self.before is not None and (launched <= self.before or self.first() < self.before):
            return self.before
        return self.first()


def phase_of(context: int, generation: int) -> Optional[str]:
    if not context:
        return "decode" if generation else None
    return "mixed" if generation else "prefill"


def find_steps(capture: Capture) -> List[Step]:
    steps = []
    for item in capture.ranges:
        match = LABEL.match(item.tag)
        if match:
            context, generation = int(match[1]), int(match[2])
            steps.append(Step(item.thread >> 24, item.start,
                              phase_of(context, generation), generation))
    by_process: Dict[int, List[Step]] = {}
    for step in steps:
        by_process.setdefault(step.process, []).append(step)
    for own in by_process.values():
        own.sort(key=lambda step: step.start)
    starts = {process: [step.start for step in own] for process, own in by_process.items()}
    for op in capture.ops:  # what follows a label until the next one is of its step
        place = bisect.bisect_right(starts.get(op.process, []), op.call.start) if op.call else 0
        if place:
            by_process[op.process][place - 1].ops.append(op)
    for own in by_process.values():
        last: Optional[int] = None
        for step in sorted((one for one in own if one.ops), key=lambda one: one.start):
            step.before = last
            last = max(last or step.last(), step.last())
    return [step for step in steps if step.ops and step.phase and step.last() > step.begin()]


def compute(capture: Capture) -> Tuple[Figures, Dict[Tuple, List[int]], List[Tuple]]:
    steps, made = find_steps(capture), total_figures(capture)
    table: Dict[Tuple, List[int]] = {}
    for phase in ("prefill", "mixed", "decode"):
        own = [step for step in steps if step.phase == phase]
        if not own:
            continue
        made.update({
            f"{phase}: count": float(len(own)),
            f"{phase}: wall ns": mean([step.last() - step.begin() for step in own]),
            f"{phase}: GPU busy ns": mean([length(union([(op.start, op.end) for op in step.ops]))
                                           for step in own]),
            f"{phase}: kernels": mean([sum(op.kind == "kernel" for op in step.ops)
                                       for step in own]),
        })
        for step in own:
            for op in step.ops:
                if op.kind == "kernel":
                    row = table.setdefault((phase, "", op.name), [0, 0])
                    row[0], row[1] = row[0] + 1, row[1] + op.end - op.start
    decodes = [step for step in steps if step.phase == "decode"]
    times = [step.last() - min(step.begin() if step.before is None else step.before, step.begin())
             for step in decodes]
    made["TPOT ns"] = mean(times)
    of_ranks = [step.process for step in decodes]  # which make each step together
    made["TPOT count"] = float(max(of_ranks.count(process) for process in of_ranks))
    if times:
        batch = sum(step.requests for step in decodes) / len(decodes)
        made["tokens/s"] = batch / (sum(times) / len(times) / 1e9)
    made["communication ns"] = float(sum(row[1] for key, row in table.items()
                                         if COMMUNICATION.search(key[2])))
    return made, table, []
