"""Operators on the timeline, by names that one operator alone launches."""
import re
from typing import Dict, List, Optional, Set

from capture import Capture
from figures import Figures, judged

COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}
PROFILER = {"Activity Buffer Request", "Buffer Flush", "Instrumentation", "Resource"}


def plain(name: str) -> str:
    """A kernel's name without what NVIDIA's tools and PyTorch spell differently."""
    if name.startswith("Memset"):
        return "memset"
    copy = re.match(r"Memcpy (\wto\w)", name)
    if copy:
        return "memcpy " + copy.group(1)
    name = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    name = re.sub(r"\(instance (\d+)\)", r"#\1", name)
    while re.search(r"\([^()]*\)", name):
        name = re.sub(r"\([^()]*\)", "", name)
    name = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", name)
    for word, instead in (("const", ""), ("void", ""), ("true", "1"), ("false", "0")):
        name = re.sub(rf"\b{word}\b", instead, name)
    return re.sub(r"[\s\[\]{}]", "", name)


def owners(operators: List[dict]) -> Dict[str, Optional[str]]:
    """By kernel the operator that alone launches it; None where there are several."""
    found: Dict[str, Set[str]] = {}
    for operator in operators:
        for kernel in operator.get("kernels") or []:
            if operator["name"] not in PROFILER:
                found.setdefault(plain(kernel["name"]), set()).add(operator["name"])
    return {kernel: next(iter(names)) if len(names) == 1 else None
            for kernel, names in found.items()}


def compute(capture: Capture, stages: List[dict], operators: List[dict]) -> Figures:
    """Of the repeats that count."""
    used, _ = judged(capture, stages)
    wanted = [one.range for one in used if one.used and one.parent is None]
    copies = {(start, end): "memcpy " + COPIES.get(kind, "?") for start, end, kind in capture.rows(
        "CUPTI_ACTIVITY_KIND_MEMCPY", ["start", "end", "copyKind"])}
    owner = owners(operators)
    made = {"joined: launches count": 0.0, "joined: all count": 0.0}
    for number, ops in capture.inside(wanted).items():
        for op in ops:
            made["joined: all count"] += 1
            name = {"copy": copies.get((op.start, op.end), "?"), "set": "memset"}.get(
                op.kind, plain(op.name))
            by = owner.get(name)
            if by:
                stage = wanted[number].tag
                made["joined: launches count"] += 1
                key = f"joined, {stage}, {by}: ns"
                made[key] = made.get(key, 0.0) + op.end - op.start
    return dict(made)


def at_least(mine: Figures, found: Figures) -> Figures:
    """Of operators that were joined by their order: what only they launch is theirs as well."""
    return {name: min(mine.get(name) or 0.0, value) for name, value in found.items()
            if name.endswith(": ns") and value is not None}


def ours(results: dict) -> Figures:
    joined = results["operators"]["joined"]
    made = {"joined: launches count": joined["by_name"]["launches"],
            "joined: all count": joined["launches"]}
    for row in joined["operators"]:
        made[f"joined, {row['stage']}, {row['name']}: ns"] = row["gpu_time_ns"]
    return made
