"""Stages, cold starts, steps, latency and kernels, as docs/metrics.md defines them."""
import bisect
import statistics
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from capture import Capture, Op, Range, covered, length, union

Figures = Dict[str, Optional[float]]
Row = Tuple[str, str, str]
OUTLIER, LEAST_STEPS = 1.5, 4


@dataclass
class Instance:
    stage: str
    parent: Optional[str]
    range: Range
    rep: int = 0
    used: bool = True
    ops: List[Op] = field(default_factory=list)
    steps: List["Step"] = field(default_factory=list)

    begin: int = 0  # when the GPU could begin it

    def end(self) -> int:
        """When what it is for was there, on the CPU and on the GPU."""
        return max([self.range.end] + [op.end for op in self.ops])

    def time(self) -> int:
        return self.end() - self.begin

    def waited(self) -> int:
        return self.end() - self.range.start


@dataclass
class Step:
    start: int
    stop: int
    host: int
    lead: int
    cold: bool = False

    def time(self) -> int:
        return self.stop - self.start


def role(name: str) -> str:
    return name.split(":", 1)[1] if ":" in name else name


def mean(values: List[Any]) -> Optional[float]:
    return sum(values) / len(values) if values else None


# ---- instances and repeats ----

def find_instances(capture: Capture, stages: List[dict]) -> List[Instance]:
    parents = {stage["name"]: stage.get("parent") for stage in stages}
    found = [Instance(item.tag, parents[item.tag], item) for item in capture.ranges
             if item.tag in parents]
    for top in (True, False):
        level = [one for one in found if (one.parent is None) == top]
        for number, ops in capture.inside([one.range for one in level]).items():
            level[number].ops = ops
    ends = ends_by_place(capture)
    for one in found:
        before = [ended_before(ends[place], begin_at(one.ops, place)) for place in places(one.ops)]
        one.begin = min(max([one.range.start] + before), one.end())
    return found


def number_repeats(instances: List[Instance], stages: List[dict]) -> None:
    there = {one.stage for one in instances}
    opener = next(stage["name"] for stage in stages
                  if stage["name"] in there and not stage.get("parent"))
    count = 0
    for one in instances:
        count += one.stage == opener
        one.rep = max(count, 1)


def drop_cold_stages(instances: List[Instance]) -> List[Tuple]:
    dropped = []
    for stage in dict.fromkeys(one.stage for one in instances if one.parent is None):
        times: Dict[int, int] = {}
        for one in instances:
            if one.stage == stage:
                times[one.rep] = times.get(one.rep, 0) + one.time()
        others = [time for rep, time in times.items() if rep != 1]
        if 1 in times and others and times[1] > OUTLIER * statistics.median(others):
            dropped.append((stage, 0, times[1]))
            for one in instances:
                if one.rep == 1 and stage in (one.stage, one.parent):
                    one.used = False
    return dropped


# ---- steps ----

def find_steps(capture: Capture, instances: List[Instance], stage: dict) -> None:
    ranges = [item for item in capture.ranges if item.tag == stage.get("step")]
    ops = capture.inside(ranges)
    decodes = [one for one in instances if one.stage == stage["name"]]
    ends = ends_by_place(capture)
    for number, item in enumerate(ranges):
        owner = next((one for one in decodes if one.range.start <= item.start
                      and item.end <= one.range.end), None)
        if owner is None or number not in ops:
            continue
        stop = max(op.end for op in ops[number])
        if owner.steps:
            start = owner.steps[-1].stop
        else:
            start = max([item.start] + [ended_before(ends[place], begin_at(ops[number], place))
                                        for place in places(ops[number])])
        owner.steps.append(Step(start, max(stop, start), item.end - item.start,
                                max(max(stop, start) - item.end, 0)))


def ends_by_place(capture: Capture) -> Dict[Tuple[int, int], List[int]]:
    ends: Dict[Tuple[int, int], List[int]] = {}
    for op in capture.ops:
        ends.setdefault((op.process, op.device), []).append(op.end)
    for own in ends.values():
        own.sort()
    return ends


def places(ops: List[Op]) -> set:
    return {(op.process, op.device) for op in ops}


def ended_before(ends: List[int], time: int) -> int:
    place = bisect.bisect_right(ends, time)
    return ends[place - 1] if place else 0


def begin_at(ops: List[Op], place: Tuple[int, int]) -> int:
    return min(op.start for op in ops if (op.process, op.device) == place)


def drop_cold_steps(instances: List[Instance], stage: str) -> List[Tuple]:
    decodes = [one for one in instances if one.stage == stage and one.used and one.steps]
    if not decodes:
        return []
    dropped, first = [], decodes[0].steps
    for place, step in enumerate(first):
        behind = [other.time() for other in first[place + 1:]]
        beside = [one.steps[place].time() for one in decodes[1:] if len(one.steps) > place]
        if (len(behind) < LEAST_STEPS or step.time() <= OUTLIER * statistics.median(behind)
                or (beside and step.time() <= OUTLIER * statistics.median(beside))):
            break
        step.cold = True
        dropped.append((stage, place + 1, step.time()))
    return dropped + drop_openings(decodes, stage)


def drop_openings(decodes: List[Instance], stage: str) -> List[Tuple]:
    """First steps that take far longer than those behind, also than the next few."""
    times = []
    for one in decodes:
        first, behind = one.steps[0], [step.time() for step in one.steps[1:]]
        if len(behind) >= LEAST_STEPS and not first.cold and first.time() > OUTLIER * max(
                statistics.median(behind), statistics.median(behind[:LEAST_STEPS])):
            first.cold = True
            times.append(first.time())
    return [(stage, 0, sum(times) // len(times))] if times else []


# ---- figures ----

def stage_figures(capture: Capture, used: List[Instance], name: str) -> Figures:
    busy = union([(op.start, op.end) for op in capture.ops])
    def per(value: Any) -> Optional[float]:
        return mean([value(one) for one in used])
    def count(*kinds: str) -> Optional[float]:
        return per(lambda one: sum(op.kind in kinds for op in one.ops))
    made = {
        "count": float(len(used)),
        "wall ns": per(lambda one: one.time()),
        "CPU ns": per(lambda one: one.range.end - one.range.start),
        "GPU busy ns": per(lambda one: length(union([(op.start, op.end) for op in one.ops]))),
        "GPU idle ns": per(lambda one: one.time() - covered(busy, one.begin, one.end())),
        "GPU time ns": per(lambda one: sum(op.end - op.start for op in one.ops)),
        "kernels": count("kernel"), "copies and sets": count("copy", "set"),
        "launches": per(lambda one: len({op.call.key for op in one.ops if op.call})),
    }
    return {f"{name}: {key}": value for key, value in made.items()}


def latency_figures(instances: List[Instance], batch: Optional[int]) -> Figures:
    made: Figures = {}
    first = [one.waited() for one in instances
             if role(one.stage) == "prefill" and one.used and not one.parent]
    made["TTFT ns"] = mean(first)
    decodes = [one for one in instances if role(one.stage) == "decode" and one.used and one.steps]
    warm = [[step for step in one.steps if not step.cold] for one in decodes]
    flat = [step for steps in warm for step in steps]
    if flat:
        times = [step.time() for step in flat]
        made.update({"TPOT ns": mean(times), "TPOT count": len(times), "TPOT least ns": min(times),
                     "TPOT most ns": max(times), "CPU per step ns": mean([s.host for s in flat]),
                     "CPU's lead ns": mean([s.lead for s in flat])})
        if batch:
            rates = [batch / (sum(s.time() for s in steps) / len(steps) / 1e9)
                     for steps in warm if steps]
            made["tokens/s"] = mean(rates)
    return made


def kernel_rows(instances: List[Instance]) -> Dict[Row, List[Op]]:
    """Kernels by stage, part and name, on all GPUs together."""
    parts = {id(op): one.stage for one in instances if one.parent for op in one.ops}
    table: Dict[Row, List[Op]] = {}
    for one in instances:
        for op in one.ops if one.used and not one.parent else []:
            if op.kind == "kernel":
                table.setdefault((one.stage, parts.get(id(op), ""), op.name), []).append(op)
    return table


def kernel_table(instances: List[Instance]) -> Dict[Row, List[int]]:
    """Their calls and ns."""
    return {key: [len(ops), sum(op.end - op.start for op in ops)]
            for key, ops in kernel_rows(instances).items()}


def total_figures(capture: Capture) -> Figures:
    spans = union([(op.start, op.end) for op in capture.ops])
    made: Figures = {f"all: {kind}": float(sum(op.kind == one for op in capture.ops))
                     for kind, one in (("kernels", "kernel"), ("copies", "copy"), ("sets", "set"),
                                       ("graphs", "graph"))}
    made["all: GPU busy ns"] = length(spans)
    made["all: span ns"] = spans[-1][1] - spans[0][0] if spans else None
    return made


def judged(capture: Capture, stages: List[dict]) -> Tuple[List[Instance], List[Tuple]]:
    """The instances, used or not, and the stages left out: (stage, 0, ns)."""
    instances = find_instances(capture, stages)
    number_repeats(instances, stages)
    return instances, drop_cold_stages(instances)


def instances_of(capture: Capture, stages: List[dict]) -> List[Instance]:
    return judged(capture, stages)[0]


def compute(capture: Capture, stages: List[dict], batch: Optional[int]) \
        -> Tuple[Figures, Dict[Row, List[int]], List[Tuple]]:
    """Figures, the kernels and what is left out: (stage, step or 0, ns)."""
    instances, dropped = judged(capture, stages)
    for stage in stages:
        if stage.get("step"):
            find_steps(capture, instances, stage)
            dropped += drop_cold_steps(instances, stage["name"])
    made = total_figures(capture)
    for stage in stages:
        used = [one for one in instances if one.stage == stage["name"] and one.used]
        if used:
            made.update(stage_figures(capture, used, stage["name"]))
        steps = mean([len(one.steps) for one in used]) if all(one.steps for one in used) else None
        if used and stage.get("step") and steps and not any(
                op.kind == "graph" for one in used for op in one.ops):
            kernels = sum(op.kind == "kernel" for one in used for op in one.ops)
            made[f"{stage['name']}: kernels per token"] = kernels / len(used) / steps
    made.update(latency_figures(instances, batch))
    return made, kernel_table(instances), dropped
