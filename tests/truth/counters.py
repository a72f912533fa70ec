"""Kernels by ncu's launches, each shape as often as it ran on the timeline."""
import csv
import re
from typing import Any, Dict, List, Optional, Tuple

from figures import Figures, Instance, kernel_rows

Launch = Dict[str, Any]
MISSING = ("", "n/a", "(!) n/a")
FLOATS = re.compile(r"sm__ops_path_tensor_src_(bf16|fp16|tf32|fp8|fp64|fp6|fp4)\w*\.sum$")

# An H200, by its datasheet: byte/s, FLOP/s.
BANDWIDTH, FP32 = 4.8e12, 66.9e12
TENSOR = {"bf16": 989.4e12, "fp16": 989.4e12, "tf32": 494.7e12, "fp8": 1978.9e12}


def number(text: str) -> Optional[float]:
    return None if text in MISSING else float(text.replace(",", ""))


def plain(name: str) -> str:
    """What both tools say of a name: nsys keeps namespaces and casts that ncu drops."""
    name = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    name = re.sub(r"\((?:unsigned |long )?[a-z]+\)(?=[\w-])", "", name)
    return re.sub(r"\b\w+::", "", name).replace(" ", "")


def dimensions(text: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in text.strip("()").split(","))


def amount(row: Launch, base: str, cycles: str, duration: float) -> Optional[float]:
    """A count as ncu gives it: a sum, or per cycle, or per second."""
    if row.get(base + ".sum") is not None:
        return row[base + ".sum"]
    per_cycle, per_s = row.get(base + ".sum.per_cycle_elapsed"), row.get(base + ".sum.per_second")
    if per_cycle is not None and row.get(cycles) is not None:
        return per_cycle * row[cycles]
    return None if per_s is None else per_s * duration


def dram_bytes(row: Launch, duration: float) -> Optional[float]:
    """Both ways together, or one and the other."""
    both = amount(row, "dram__bytes", "", duration)
    ways = [row.get(f"dram__bytes_{way}.sum") for way in ("read", "write")]
    known = [way for way in ways if way is not None]
    return sum(known) if both is None and len(known) == len(ways) else both


def read(path: str, stages: List[str]) -> List[Launch]:
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    titles, units, launches = lines[0], dict(zip(lines[0], lines[1])), []
    nvtx = next(i for i, title in enumerate(titles) if "Push/Pop" in title)
    for line in lines[2:]:
        if not line[titles.index("Grid Size")]:
            continue  # a whole range
        row: Launch = {}
        for title, text in zip(titles, line):
            if "__" in title:
                try:
                    row[title] = number(text)
                except ValueError:
                    continue
        scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[units["gpu__time_duration.sum"]]
        duration = row["gpu__time_duration.sum"] * scale
        moved = dram_bytes(row, duration)
        ranges = re.findall(r'"<default domain>:([^:"]*):', line[nvtx])
        launches.append({
            "name": plain(line[titles.index("Kernel Name")]),
            "shape": dimensions(line[titles.index("Grid Size")])
            + dimensions(line[titles.index("Block Size")]),
            "stage": next((name for name in ranges if name in stages), None),
            "duration": duration,
            **percentages(row, moved, duration),
            "DRAM bytes": moved,
            "fp32 FLOP": fp32(row, duration),
            "tensor FLOP": tensor_flop(row, fp32(row, duration)),
            "format": max(tensor(row), key=lambda one: tensor(row)[one], default=None),
        })
    return launches


PERCENT = {"DRAM %": "gpu__dram_throughput", "SM %": "sm__throughput",
           "memory %": "gpu__compute_memory_throughput", "L2 %": "lts__throughput",
           "issue %": "sm__issue_active"}
ACTIVE = {"L1 %": "l1tex__throughput", "occupancy %": "sm__warps_active"}


# These have to be measured; of units other than L2 all that the file has a column for.
PARTS = {"sm": ("sm__issue_active",), "l1tex": ("l1tex__data_bank_reads",),
         "lts": ("lts__d_sectors", "lts__t_sectors")}
PEAK = ".avg.pct_of_peak_sustained_elapsed"


def busiest(row: Launch, unit: str) -> Optional[float]:
    """The busiest part of a unit, as the collector measures them: absent where one may be busier
    that was not measured."""
    parts = {title: value for title, value in row.items()
             if title.startswith(unit + "__") and title.endswith(PEAK)}
    needed = [name + PEAK for name in PARTS[unit]] + (list(parts) if unit != "lts" else [])
    if any(parts.get(title) is None for title in needed):
        return None
    return max(value for value in parts.values() if value is not None)


def percentages(row: Launch, moved: Optional[float],
                duration: float) -> Dict[str, Optional[float]]:
    """Of each unit's peak; of DRAM by its bytes where the percentage was not measured. L1's by ncu
    is of the cycles in which it was active: at most memory's."""
    made = {key: row.get(name + PEAK) for key, name in PERCENT.items()}
    made.update({key: row.get(name + ".avg.pct_of_peak_sustained_active")
                 for key, name in ACTIVE.items()})
    if made["DRAM %"] is None:
        made["DRAM %"] = row.get("dram__throughput" + PEAK)
    if "gpu__compute_memory_throughput" + PEAK not in row:
        made.update({key: busiest(row, unit) for key, unit in
                     (("SM %", "sm"), ("L1 %", "l1tex"), ("L2 %", "lts"))})
        of_memory = [made["L1 %"], made["L2 %"]]
        if None not in of_memory:
            made["memory %"] = max(value for value in of_memory + [made["DRAM %"]]
                                   if value is not None)
    if made["DRAM %"] is None and moved is not None and duration > 0:
        made["DRAM %"] = 100 * moved / duration / BANDWIDTH
    level, memory = row.get("l1tex__throughput.avg.pct_of_peak_sustained_active"), made["memory %"]
    if level is not None and memory is not None:
        made["L1 %"] = min(level, memory)
    return made


def tensor(row: Launch) -> Dict[str, float]:
    """FLOP of the tensor cores by the format that they read."""
    made: Dict[str, float] = {}
    for title, value in row.items():
        match = FLOATS.match(title)
        if match and value:
            made[match[1]] = made.get(match[1], 0) + value
    return made


def tensor_flop(row: Launch, scalar: Optional[float]) -> Optional[float]:
    """Of all formats; 0 needs all of them, or no instruction and the other operations. Matrices
    of integers count instructions, too."""
    formats = [value for title, value in row.items() if FLOATS.match(title)]
    flop = sum(tensor(row).values())
    used = row.get("sm__inst_executed_pipe_tensor.sum")
    if not formats or flop > 0:
        return flop if formats else None
    return 0 if None not in formats or used == 0 and scalar is not None else None


def least_s(launches: List[Launch]) -> float:
    """What a launch of a shape takes at least."""
    formats = {one["format"] for one in launches if one["format"]}
    times = [(mean_of(launches, "DRAM bytes") or 0) / BANDWIDTH,
             (mean_of(launches, "fp32 FLOP") or 0) / FP32]
    times += [(mean_of(launches, "tensor FLOP") or 0) / TENSOR[one] for one in formats
              if one in TENSOR]
    return max(times)


def fp32(row: Launch, duration: float) -> Optional[float]:
    parts = [amount(row, f"smsp__sass_thread_inst_executed_op_{op}_pred_on",
                    "smsp__cycles_elapsed.avg", duration) for op in ("fadd", "fmul", "ffma")]
    return None if None in parts else parts[0] + parts[1] + 2 * parts[2]  # type: ignore


def shapes_of(instances: List[Instance]) -> Dict[Tuple, Dict[Tuple, List[int]]]:
    """By stage, part and name: calls and ns of each shape."""
    made: Dict[Tuple, Dict[Tuple, List[int]]] = {}
    for key, ops in kernel_rows(instances).items():
        for op in ops:
            row = made.setdefault(key, {}).setdefault(op.shape, [0, 0])
            row[0], row[1] = row[0] + 1, row[1] + op.end - op.start
    return made


def mean_of(launches: List[Launch], key: str, by: str = "") -> Optional[float]:
    """An amount needs all launches, a percentage is of those that have it."""
    if by:
        launches = [launch for launch in launches if launch[key] is not None]
    if not launches or any(launch[key] is None for launch in launches):
        return None
    weights = [launch[by] if by else 1.0 for launch in launches]
    return sum(one[key] * weight for one, weight in zip(launches, weights)) / sum(weights)


def weigh(shapes: Dict[Tuple, List[int]], launches: List[Launch]) -> Figures:
    """Amounts by calls, percentages by time; and the time that was measured."""
    made: Figures = {}
    known = {shape: [one for one in launches if one["shape"] == shape] for shape in shapes}
    known = {shape: found for shape, found in known.items() if found}
    wanted = [("DRAM bytes", "", 0), ("fp32 FLOP", "", 0), ("tensor FLOP", "", 0)]
    for key, by, weight in wanted + [(one, "duration", 1) for one in {**PERCENT, **ACTIVE}]:
        values = [(mean_of(found, key, by), shapes[shape][weight])
                  for shape, found in known.items()]
        if by:
            values = [(value, times) for value, times in values if value is not None]
        if values and all(value is not None for value, _ in values):
            made[key] = sum(value * times for value, times in values if value is not None) \
                / sum(times for _, times in values)
    made["least time ns"] = 1e9 * sum(shapes[shape][0] * least_s(found)
                                      for shape, found in known.items())
    made["measured ns"] = float(sum(shapes[shape][1] for shape in known))
    made["measured calls"] = float(sum(shapes[shape][0] for shape in known))
    return made


def compute(instances: List[Instance], path: str) -> Tuple[Dict[Tuple, Figures], Figures]:
    """By kernel what its own stage's launches say; and the coverage of each stage."""
    stages = sorted({one.stage for one in instances if one.parent is None})
    launches, kernels, coverage = read(path, stages), {}, {stage: [0.0, 0.0] for stage in stages}
    for key, shapes in shapes_of(instances).items():
        own = [one for one in launches if one["name"] == plain(key[2])
               and one["stage"] in (key[0], None) and one["shape"] in shapes]
        time = sum(row[1] for row in shapes.values())
        coverage[key[0]][1] += time
        if own:
            kernels[key] = weigh(shapes, own)
            coverage[key[0]][0] += kernels[key]["measured ns"] or 0
    made: Figures = {f"{stage}: counters cover %": 100 * part / whole
                     for stage, (part, whole) in coverage.items() if whole}
    made["all: counters cover %"] = 100 * sum(part for part, _ in coverage.values()) \
        / sum(whole for _, whole in coverage.values())
    return kernels, made
