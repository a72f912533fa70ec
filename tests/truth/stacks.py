"""What the CPU was in: sampled stacks of an export, and of collapsed stacks, by stage."""
import os
import re
from collections import Counter
from typing import Dict, List, Optional, Tuple

from capture import Capture, Range
from figures import Figures

BROKEN = "[Broken backtraces]"
Name = Tuple[str, str]
Stack = Tuple[Name, ...]  # the outermost function first


def name_of(symbol: Optional[str], module: Optional[str], unresolved: Optional[int]) -> Name:
    place = os.path.basename(module) if module and module.startswith("/") else module or ""
    if symbol is not None and not unresolved:
        return symbol, place
    return ("[unknown]", "") if not place or place.startswith("[") else (f"[{place}]", place)


def folded_once(names: List[Name]) -> Stack:
    """Of functions without a name that call each other one stays."""
    made: List[Name] = []
    for name in names:
        nameless = name[0] in (f"[{name[1]}]", "[unknown]")
        if not (nameless and made and made[-1] == name):
            made.append(name)
    return tuple(made)


def stacks_of(capture: Capture) -> Dict[int, Stack]:
    chains: Dict[int, List[Tuple[int, Name]]] = {}
    for number, depth, symbol, module, unresolved in capture.rows(
            "SAMPLING_CALLCHAINS", ["id", "stackDepth", "symbol", "module", "unresolved"]):
        if capture.strings.get(symbol) != BROKEN:
            name = name_of(capture.strings.get(symbol), capture.strings.get(module), unresolved)
            chains.setdefault(number, []).append((depth, name))
    return {number: folded_once([name for _, name in sorted(chain, reverse=True)])
            for number, chain in chains.items()}


def place(ranges: List[Range], time: int, thread: int) -> Optional[Tuple[str, bool]]:
    """The stage that a sample is of, and whether its range is on the sample's thread."""
    for own in (True, False):
        around = [item for item in ranges if item.start <= time < item.end
                  and item.thread >> 24 == thread >> 24 and (item.thread == thread or not own)]
        if around:
            return max(around, key=lambda item: item.start).tag, own
    return None


def sums(stacks: Counter) -> Tuple[Counter, Counter, Counter]:
    """Samples by innermost function, by any function, and by path."""
    self_of: Counter = Counter()
    total_of: Counter = Counter()
    paths: Counter = Counter()
    for stack, count in stacks.items():
        if stack:
            self_of[stack[-1]] += count
        for name in set(stack):
            total_of[name] += count
        for depth in range(len(stack)):
            paths[stack[:depth + 1]] += count
    return self_of, total_of, paths


def paths_of(tree: List[dict]) -> Dict[Stack, int]:
    path: List[Name] = []
    made = {}
    for frame in tree:
        path[frame["depth"]:] = [(frame["name"], frame.get("module", ""))]
        made[tuple(path)] = frame["total"]
    return made


def figures_of(stage: dict, stacks: Counter, title: str) -> Tuple[Figures, Figures]:
    self_of, total_of, paths = sums(stacks)
    ours: Figures = {f"{title}: samples count": stage["samples"],
                     f"{title}: functions count": stage["different"],
                     f"{title}: without a stack count": stage["without_stack"]}
    own: Figures = {f"{title}: samples count": sum(stacks.values()),
                    f"{title}: functions count": len(total_of),
                    f"{title}: without a stack count": stacks.get((), 0)}
    for number, row in enumerate(stage["functions"]):
        name = (row["name"], row.get("module", ""))
        for what, value, known in (("self", row["self"], self_of), ("all", row["total"], total_of)):
            ours[f"{title}: function {number}, {what} count"] = value
            own[f"{title}: function {number}, {what} count"] = known.get(name, 0)
    tree, least = paths_of(stage["tree"]), max(1, -(-sum(stacks.values()) // 1000))
    ours[f"{title}: paths count"] = len(tree)
    own[f"{title}: paths count"] = sum(count >= least for count in paths.values())
    for number, (path, total) in enumerate(tree.items()):
        ours[f"{title}: path {number} count"] = total
        own[f"{title}: path {number} count"] = paths.get(path, 0)
    return ours, own


def of_export(capture: Capture, names: List[str], made: dict) -> Tuple[Figures, Figures]:
    """Ours and its own, of the stages that are ranges of these names."""
    ranges = [item for item in capture.ranges if item.tag in names]
    chains, outside = stacks_of(capture), 0
    inside: Dict[str, Counter] = {}
    others: Counter = Counter()
    samples = capture.rows("COMPOSITE_EVENTS", ["id", "start", "globalTid"])
    for number, time, thread in samples:
        found = place(ranges, time, thread)
        if not found:
            outside += 1
        elif found[1]:
            inside.setdefault(found[0], Counter())[chains.get(number, ())] += 1
        else:
            others[found[0]] += 1
    ours: Figures = {"samples count": made["timeline"], "outside count": made["outside"]}
    own: Figures = {"samples count": len(samples), "outside count": outside}
    for stage in made["stages"]:
        if "file" in stage:
            continue
        title = stage["stage"]
        for figures, more in zip((ours, own), figures_of(stage, inside[title], title)):
            figures.update(more)
        ours[f"{title}: of other threads count"] = stage["other_threads"]
        own[f"{title}: of other threads count"] = others[title]
    return ours, own


FRAME = re.compile(r"^(.+?) \((.+)\)$")


def frame_of(text: str) -> Name:
    parts = FRAME.match(text)
    if not parts:
        return text, ""
    module = re.sub(r":\d+$", "", parts[2])
    return name_of(parts[1], module, re.fullmatch(r"0x[0-9a-fA-F]+", parts[1]) is not None)


def of_file(path: str, stage: dict) -> Tuple[Figures, Figures]:
    """The same of collapsed stacks as py-spy writes them."""
    stacks: Counter = Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            names, _, count = line.rstrip("\n").rpartition(" ")
            frames = [frame_of(text) for text in names.split(";") if text]
            stacks[folded_once(frames)] += int(count)
    return figures_of(stage, stacks, stage["stage"])
