"""What a finding says it gives back, against what it is taken from."""
from typing import Any, Dict, Optional, Tuple

from figures import Figures

def time_of(results: dict, stage: dict) -> float:
    """ns of one instance: without the profiler where it was timed so."""
    for entry in (results.get("overhead") or {}).get("stages", []):
        if entry["name"] == stage["name"]:
            return entry["plain_ms"] * 1e6
    return stage["wall"]["mean_ns"]


def idle_of(results: dict, stage: dict) -> float:
    """ns of that time in which the GPU did nothing."""
    time = time_of(results, stage)
    return stage["gpu_idle_ns"] if time == stage["wall"]["mean_ns"] \
        else max(time - stage["gpu_busy_ns"], 0)


def stage_of(results: dict, finding: dict) -> Optional[dict]:
    return next((stage for stage in results["stages"] if stage["name"] == finding.get("stage")),
                None)


def plain_time(results: dict, stage: dict, finding: dict) -> float:
    """A step of an engine that was replayed lasts from the end of the one before: only that it is
    no shorter than its range can be told here."""
    if finding["of"] == "plain runs":
        return time_of(results, stage)
    by_labels = (results.get("ranks") or {}).get("source") == "labels"
    return max(stage["wall"]["mean_ns"], finding["of_ns"] if by_labels else 0)


def compare(table: Any, results: dict) -> None:
    """A row for each gain: what it is a part of, its share, and its interval; and for pairs."""
    findings = (results.get("advice") or {}).get("findings", [])
    for number, finding in enumerate(findings, 1):
        stage = stage_of(results, finding)
        if finding.get("gain_ns") is None or stage is None:
            continue
        title, gain = f"finding {number}, {finding['rule']}", finding["gain_ns"]
        time = plain_time(results, stage, finding)
        table.row(f"{title}: of ns", finding["of_ns"], time)
        table.row(f"{title}: share %", 100 * finding["gain_share"], 100 * gain / time)
        table.row(f"{title}: beyond its interval ns", max(
            finding["low_ns"] - gain, gain - finding["high_ns"], gain - time, 0), 0)
    for pair in (results.get("advice") or {}).get("pairs", []):
        table.row(f"findings {pair['ranks']}: sum ns", pair["sum_ns"],
                  sum(findings[rank - 1]["gain_ns"] for rank in pair["ranks"]))


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
