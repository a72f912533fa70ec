"""What a finding says it could give back, against what it is taken from."""
from typing import Any, Dict, List, Optional, Tuple

from figures import Figures

HELD_UP = 0.3


def time_of(results: dict, stage: dict) -> float:
    """ns of one instance: without the profiler where it was timed so."""
    for entry in (results.get("overhead") or {}).get("stages", []):
        if entry["name"] == stage["name"]:
            return entry["plain_ms"] * 1e6
    return stage["wall"]["mean_ns"]


def most_of(results: dict, stage: dict, spends: str) -> float:
    """What there is to take it from."""
    time, busy = time_of(results, stage), stage["gpu_busy_ns"]
    within = (stage.get("waiting") or {}).get("graph_ns", 0)
    return min(busy, time) if spends == "gpu" else max(time - busy - within, 0)


def idle_of(results: dict, stage: dict) -> float:
    """ns of that time in which the GPU did nothing."""
    time = time_of(results, stage)
    return stage["gpu_idle_ns"] if time == stage["wall"]["mean_ns"] \
        else max(time - stage["gpu_busy_ns"], 0)


def kernels_of(results: dict, finding: dict) -> List[dict]:
    return [results["kernels"][number - 1] for number in finding.get("kernels") or []]


def launching(results: dict, stage: dict) -> float:
    """What the CPU holds back."""
    if time_of(results, stage) != stage["wall"]["mean_ns"]:
        return most_of(results, stage, "waiting")
    waits = stage["waiting"]
    return waits["launch_ns"] + waits["host_ns"] + waits["other_ns"]


def leaving_out(results: dict, stage: dict, calls: float, ns: float) -> float:
    """So many calls of so much time go away."""
    waiting = most_of(results, stage, "waiting")
    replayed = stage["kernels"] >= 2 * stage["launches"]
    if waiting < HELD_UP * time_of(results, stage) or replayed:
        return ns
    return waiting * calls / max(stage["launches"], stage["kernels"])


def shortness(kernel: dict) -> float:
    """1 up to 5 us, 0 from 10 us."""
    return max(min(2 - kernel["mean_ns"] / 5000, 1), 0)


def expected(results: dict, stage: dict, finding: dict) -> Optional[float]:
    """The gain before it is cut to what there is; None for a rule that is not redone here."""
    own, count = kernels_of(results, finding), stage["wall"]["count"]
    if finding["rule"] in ("launch_bound", "graph_missing"):
        return launching(results, stage)
    if finding["rule"] == "small_elementwise":
        calls = sum(shortness(kernel) * kernel["calls"] for kernel in own) / count
        ns = sum(shortness(kernel) * kernel["total_ns"] for kernel in own) / count
        return leaving_out(results, stage, calls * 2 / 3, ns * 2 / 3)
    if finding["rule"] in ("casts", "layout_copies"):
        copies = [row for row in results.get("transfers") or [] if finding["rule"] != "casts"
                  and row["stage"] == stage["name"] and row["direction"] == "device to device"]
        calls = sum(one["calls"] for one in own + copies) / count
        ns = (sum(kernel["total_ns"] for kernel in own)
              + sum(row["gpu_time_ns"] for row in copies)) / count
        return leaving_out(results, stage, calls, ns)
    if finding["rule"] == "gemm_precision":
        return sum(kernel["total_ns"] for kernel in own) / count / 2
    if finding["rule"] == "cat_cache":
        attention = sum(kernel["calls"] for kernel in results["kernels"]
                        if kernel["stage"] == stage["name"] and kernel["category"] == "attention")
        return (2 * attention * sum(kernel["total_ns"] for kernel in own) / count
                / sum(kernel["calls"] for kernel in own))
    return None


def stage_of(results: dict, finding: dict) -> Optional[dict]:
    return next((stage for stage in results["stages"] if stage["name"] == finding.get("stage")),
                None)


def waiting_calls(results: dict, stage: dict) -> float:
    """All findings about waiting calls of a stage give back at most the time in them, and at most
    the GPU's idle time."""
    found = [one.get("gain_ns", 0) for one in results["advice"]["findings"]
             if one["rule"] == "sync_per_token" and one["stage"] == stage["name"]]
    limit = min(stage["api"]["sync"]["ns"], most_of(results, stage, "waiting"))
    return max(sum(found) - limit, 0)


def compare(table: Any, results: dict) -> None:
    """A row for each gain: its limit, its share, and what it comes to."""
    for number, finding in enumerate((results.get("advice") or {}).get("findings", []), 1):
        stage = stage_of(results, finding)
        if finding.get("gain_ns") is None or stage is None:
            continue
        title, most = f"finding {number}, {finding['rule']}", most_of(results, stage,
                                                                      finding["spends"])
        table.row(f"{title}: of ns", finding["of_ns"], time_of(results, stage))
        table.row(f"{title}: beyond what there is ns", max(finding["gain_ns"] - most, 0), 0)
        table.row(f"{title}: share %", 100 * finding["gain_share"],
                  100 * finding["gain_ns"] / time_of(results, stage))
        gain = expected(results, stage, finding)
        if gain is not None:
            table.row(f"{title}: gain ns", finding["gain_ns"], max(min(gain, most), 0))
    for stage in results["stages"] if results.get("advice") else []:
        if stage.get("waiting"):
            table.row(f"{stage['name']}: gains of waiting calls beyond their time ns",
                      waiting_calls(results, stage), 0)


def of_headroom(results: dict) -> Tuple[Figures, Figures]:
    """Ours and its own: a kernel's time less its floor, per instance and step."""
    ours: Figures = {}
    own: Figures = {}
    stages: Dict[str, dict] = {stage["name"]: stage for stage in results["stages"]}
    for row in results.get("headroom") or []:
        kernel = results["kernels"][row["kernel"] - 1]
        stage, title = stages[kernel["stage"]], f"headroom of kernel {row['kernel']}"
        spare = (kernel["total_ns"] - (kernel.get("floor_ns") or 0)) / stage["wall"]["count"]
        ours.update({f"{title}: ns": row["per_instance_ns"],
                     f"{title}: %": 100 * row["stage_share"]})
        own.update({f"{title}: ns": spare, f"{title}: %": 100 * spare / stage["gpu_time_ns"]})
        if row.get("per_token_ns") is not None:
            ours[f"{title}: per step ns"] = row["per_token_ns"]
            own[f"{title}: per step ns"] = spare / stage["steps"]
    for point in (results.get("roofline") or {}).get("kernels", []):
        kernel = results["kernels"][point["kernel"] - 1]
        counted, title = kernel["counters"], f"roofline of kernel {point['kernel']}"
        ran = [sum(shape[key] for shape in counted["shapes"]) for key in ("total_ns", "calls")]
        flop, moved = counted.get("flop_per_launch"), counted.get("dram_bytes_per_launch")
        if flop:
            ours.update({f"{title}: GFLOP/s": point["rate"] / 1e9, f"{title}: FLOP/B": point.get(
                "intensity")})
            own.update({f"{title}: GFLOP/s": flop * ran[1] / ran[0],
                        f"{title}: FLOP/B": flop / moved})
        if moved:
            ours[f"{title}: GB/s"] = point["dram_rate"] / 1e9
            own[f"{title}: GB/s"] = moved * ran[1] / ran[0]
    return ours, own
