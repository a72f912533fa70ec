"""Recompute the figures of a report and print ours, its own, difference.

    python3 tests/truth/truth.py LLMPROF [-q]

The captures of the tree, and every export (*.sqlite, *.sqlite.xz) and recording (*.spool,
*.spool.xz) under the folder that $LLMPROF_CAPTURES names. Fails where a figure differs in the
last digit printed.
"""
import glob
import json
import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Optional, Tuple

import counters
import engine
import figures
import gains
import held_up
import host
import inferred
import operators_by_name
import layers
import meetings
import model
import slopes
import spread
import stacks
from capture import Capture

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests", "fixtures")
RECORDED = os.path.join(ROOT, "recipes", "recorded")
PLAIN = [{"name": "prefill"}, {"name": "decode"}]
CHILDREN = ("sam", "clip", "projector", "vision")

# Printed digits, by the last word of a figure's name; others have one.
DIGITS = {"count": 0, "kernels": 2, "%": 4, "bytes": 0, "FLOP": 0, "calls": 0, "token": 2}


def labelled(capture: Capture) -> bool:
    """Does an engine label its steps?"""
    return any(engine.LABEL.match(tag) for tag in capture.tags())


def stages_of(capture: Capture) -> List[dict]:
    """The stages that the ranges of a capture mark, as a recipe would declare them."""
    tags = capture.tags()
    if labelled(capture):
        return PLAIN
    for domain in ("", "LLM:"):
        steps = next((tag for tag in (domain + "decode_step", domain + "step") if tag in tags),
                     None)
        stages = [{"name": domain + "prefill"}, {"name": domain + "decode"}]
        if steps:
            stages[1]["step"] = steps
        made = []
        for stage in stages:
            if stage["name"] not in tags:
                continue
            made.append(stage)
            if stage["name"].endswith("prefill"):
                made += [{"name": name, "parent": stage["name"]} for name in CHILDREN
                         if name in tags]
        if made:
            return made
    return []


# ---- ours ----

def run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: exit status {done.returncode}\n{done.stderr}{done.stdout}")
    return done.stdout


def results_of_recipe(program: str, recipe: str, folder: str, out: str) -> dict:
    run(program, os.path.join(ROOT, "recipes", recipe + ".lua"), "capture=recorded",
        "recorded=" + folder, "out=" + out)
    return load(out, "results.json")


def results_of_export(program: str, path: str, stages: List[dict]) -> dict:
    return json.loads(run(program, "exec", os.path.join(ROOT, "tests", "truth", "ours.lua"), path,
                          json.dumps(stages), "1"))


def cost_figures(stage: dict) -> figures.Figures:
    cost, made = stage.get("cost"), stage.get("efficiency")
    if not cost or not made:
        return {}
    return {"model FLOP": cost["flops"], "model bytes": cost["bytes"],
            "least time ns": made["floor_ns"]["value"], "plain ns": made["time_ns"],
            "MFU %": 100 * made["mfu"]["value"], "MBU %": 100 * made["mbu"]["value"]}


def stage_figures(stage: dict) -> figures.Figures:
    name, wall = stage["name"], stage.get("wall")
    if not wall:
        return {}
    made = {"count": wall["count"], "wall ns": wall["mean_ns"],
            "CPU ns": stage.get("host_ns"),
            "GPU busy ns": stage["gpu_busy_ns"], "GPU idle ns": stage["gpu_idle_ns"],
            "GPU time ns": stage["gpu_time_ns"], "kernels": stage["kernels"],
            "copies and sets": stage["copies"], "launches": stage["launches"],
            "kernels per token": stage.get("kernels_per_token")}
    made.update(cost_figures(stage))
    return {f"{name}: {key}": value for key, value in made.items()}


def ours_of(results: dict) -> figures.Figures:
    totals, latency = results["totals"], results.get("latency") or {}
    made: figures.Figures = {f"all: {kind}": totals[kind]
                             for kind in ("kernels", "copies", "sets", "graphs")}
    made["all: GPU busy ns"], made["all: span ns"] = totals["busy_ns"], totals.get("span_ns")
    for stage in results["stages"]:
        made.update(stage_figures(stage))
    tpot, host = latency.get("tpot") or {}, latency.get("host") or {}
    made["TTFT ns"] = (latency.get("ttft") or {}).get("mean_ns")
    for name, key in (("TPOT ns", "mean_ns"), ("TPOT count", "count"),
                      ("TPOT least ns", "min_ns"), ("TPOT most ns", "max_ns")):
        made[name] = tpot.get(key)
    made["CPU per step ns"], made["CPU's lead ns"] = host.get("mean_ns"), host.get("lead_ns")
    made["tokens/s"] = (latency.get("tokens_per_s") or {}).get("mean")
    made["communication ns"] = float(sum(kernel["total_ns"] for kernel in results["kernels"]
                                         if kernel.get("category") == "communication"))
    made["TPOT, plain ns"] = ((latency.get("plain") or {}).get("tpot") or {}).get("mean_ns")
    covers = results.get("counters") or {}
    for stage in covers.get("stages", []):
        made[f"{stage['name']}: counters cover %"] = 100 * stage["coverage"]
    if covers.get("coverage") is not None:
        made["all: counters cover %"] = 100 * covers["coverage"]
    return made


def key_of(kernel: dict) -> Tuple:
    return (kernel["stage"], kernel.get("part") or "", kernel["name"])


# ---- side by side ----

class Table:
    """Rows as they are compared; counts those that differ."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.count, self.wrong = quiet, 0, 0

    def row(self, name: str, ours: Optional[float], own: Optional[float]) -> None:
        digits = DIGITS.get(name.split()[-1], 1)
        left, right = (None if value is None else round(float(value), digits)
                       for value in (ours, own))
        self.count += 1
        same = left == right
        if left is not None and right is not None and not same:
            # a tie in the last digit may round the other way
            same = abs(float(ours or 0) - float(own or 0)) <= 1e-9 * abs(float(own or 0))
        self.wrong += not same
        if not self.quiet or not same:
            difference = "-" if left is None or right is None else f"{left - right:,.{digits}f}"
            cells = [f"{'absent' if value is None else format(value, f',.{digits}f'):>18}"
                     for value in (left, right)]
            print(f"  {name:44} {cells[0]} {cells[1]} {'0' if same else difference:>14}"
                  + ("" if same else "  DIFFERS"))


def compare_kernels(table: Table, results: dict, own: Dict[Tuple, List[int]]) -> None:
    ours = {key_of(kernel): [kernel["calls"], kernel["total_ns"]] for kernel in results["kernels"]}
    table.row("kernel table: rows count", len(ours), len(own))
    for place, what in enumerate(("calls", "ns")):
        table.row(f"kernel table: all {what}", sum(row[place] for row in ours.values()),
                  sum(row[place] for row in own.values()))
        worst = max((abs(ours.get(key, [0, 0])[place] - own.get(key, [0, 0])[place])
                     for key in {**ours, **own}), default=0)
        table.row(f"kernel table: largest difference of a row, {what}", worst, 0)


FIELDS = {"DRAM bytes": "dram_bytes_per_launch", "fp32 FLOP": "fp32_flop_per_launch",
          "tensor FLOP": "tensor_flop_per_launch", "DRAM %": "dram_percent",
          "measured calls": "measured_calls", "SM %": "sm_percent", "L1 %": "l1_percent",
          "L2 %": "l2_percent", "memory %": "memory_percent", "issue %": "issue_percent",
          "occupancy %": "occupancy_percent"}


def compare_counters(table: Table, results: dict, own: Dict[Tuple, figures.Figures]) -> None:
    for kernel in results["kernels"]:
        ours: Dict[str, Any] = kernel.get("counters") or {}
        theirs = own.get(key_of(kernel), {}) if ours.get("match") == "exact" else None
        if theirs is None:
            continue
        for name, field in FIELDS.items():
            table.row(f"kernel {kernel['id']}: {name}", ours.get(field), theirs.get(name))
        table.row(f"kernel {kernel['id']}: least time ns", kernel.get("floor_ns"),
                  theirs.get("least time ns"))


def rows(table: Table, ours: figures.Figures, own: figures.Figures) -> None:
    for name, value in own.items():
        table.row(name, ours.get(name), value)


def several_gpus(capture: Capture) -> bool:
    return len({(op.process, op.device) for op in capture.ops}) > 1


def judge_ranks(table: Table, record: dict, capture: Optional[Capture], metrics: Optional[str],
                own: Optional[figures.Figures] = None) -> None:
    """Steps, ranks and collectives; of an engine's capture the clients, too."""
    own = dict(own or {})
    if capture:
        own.update(meetings.of_steps(capture))
    if capture and metrics and os.path.exists(metrics):
        own.update(meetings.of_clients(capture, metrics))
    rows(table, meetings.ours(record), own)
    for name, left, right in meetings.sums(record):
        table.row(name, left, right)


def judge_spread(table: Table, capture: Capture, stages: List[dict], results: dict,
                 folder: Optional[str]) -> None:
    """What lies around the means: percentiles, the CPU, pauses, copies, rows of kernels."""
    instances, _ = figures.judged(capture, stages)
    for stage in stages:
        if stage.get("step"):
            figures.find_steps(capture, instances, stage)
            figures.drop_cold_steps(instances, stage["name"])
    names = [stage["name"] for stage in stages]
    rows(table, spread.ours(results), spread.compute(capture, instances, names, folder))
    rows(table, host.ours(results), host.compute(capture, instances, names))
    spread.compare_kernels(table, results, instances)
    if (results.get("layers") or {}).get("named"):
        rows(table, layers.ours(results), layers.compute(capture, instances))


def judge(table: Table, title: str, capture: Capture, stages: List[dict], results: dict,
          raw: Optional[str] = None, own_numbers: Optional[figures.Figures] = None,
          folder: Optional[str] = None) -> None:
    print(f"{title}")
    ours = ours_of(results)
    if labelled(capture):
        own, kernels, dropped = engine.compute(capture)
        if results.get("ranks"):
            judge_ranks(table, results["ranks"], capture,
                        folder and os.path.join(folder, "metrics.json"))
    else:
        own, kernels, dropped = figures.compute(capture, stages, batch_of(results))
        if not several_gpus(capture):
            judge_spread(table, capture, stages, results, folder)
    gains.compare(table, results)
    if not several_gpus(capture) or results.get("ranks"):
        rows(table, held_up.ours(results), held_up.compute(capture, results))
    rows(table, *gains.of_headroom(results))
    raw = None if labelled(capture) else raw  # its launches are of no range that we know
    if raw:
        of_kernels, covers = counters.compute(figures.instances_of(capture, stages), raw)
        own.update(covers)
    own.update(own_numbers or {})
    rows(table, ours, own)
    compare_kernels(table, results, kernels)
    said = [(entry["stage"], entry.get("step", 0), entry["ns"])
            for entry in results["repeats"].get("left_out") or []]
    table.row("left out: count", len(said), len(dropped))
    table.row("left out: ns", sum(entry[2] for entry in said), sum(entry[2] for entry in dropped))
    if raw:
        compare_counters(table, results, of_kernels)


def batch_of(results: dict) -> Optional[int]:
    return (results["latency"].get("tokens_per_s") or {}).get("batch")


def judge_stripped(table: Table, program: str, path: str, folder: str, title: str) -> None:
    """The same capture without its ranges, where a kernel's name tells the steps."""
    target = os.path.join(folder, "stripped.sqlite")
    shutil.copyfile(path, target)
    database = sqlite3.connect(target)
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'NVTX_EVENTS'").fetchone():
        database.execute("DELETE FROM NVTX_EVENTS")
        database.commit()
    database.close()
    own = inferred.compute(Capture(target))
    if not own:
        return
    print(f"{title}, without ranges")
    rows(table, inferred.ours(results_of_export(program, target, PLAIN)), own)


def judge_recording(table: Table, program: str, path: str, folder: str) -> None:
    """A recording of the collector, by way of the export that llmprof writes of it."""
    target = os.path.join(folder, "recording.sqlite")
    if os.path.exists(target):
        os.remove(target)
    run(program, "export", path, "-o", target)
    print(path)
    results = results_of_export(program, path, PLAIN)
    rows(table, held_up.ours(results), held_up.compute(Capture(target), results))


def judge_samples(table: Table, program: str, path: str, title: str) -> None:
    """What the CPU was in, where it was sampled."""
    capture = Capture(path)
    names = [name for name in ("prefill", "decode") if name in capture.tags()]
    if not names or not capture.rows("COMPOSITE_EVENTS", ["id"]):
        return
    results = results_of_export(program, path, [{"name": name} for name in names])
    if results["repeats"].get("left_out"):
        return
    print(f"{title}, samples")
    rows(table, *stacks.of_export(capture, names, results["cpu_samples"]))


def judge_collapsed(table: Table, program: str, folder: str) -> None:
    """A capture with collapsed stacks beside it."""
    print(f"{os.path.relpath(folder, ROOT)}, collapsed stacks")
    with tempfile.TemporaryDirectory() as out:
        results = results_of_recipe(program, "alt_llm", folder, out + "/run")
    for stage in results["cpu_samples"]["stages"]:
        if "file" in stage:
            rows(table, *stacks.of_file(os.path.join(folder, stage["file"]), stage))


def judge_slope(table: Table, program: str, path: str, folder: str, title: str) -> None:
    """The same capture, each step of a decode longer than the one before."""
    target, stages = os.path.join(folder, "slope.sqlite"), stages_of(Capture(path))
    if not stages or not slopes.put_in(path, target):
        return
    share = slopes.found(*(results_of_export(program, one, stages) for one in (path, target)))
    if share is not None:
        print(f"{title}, {slopes.NS} ns a token put in")
        table.row("slope: share found %", 100 * share, 100)


# ---- the captures ----

# Those with a kernel that picks tokens.
UNMARKED = ["tests/fixtures/recorded/deepseek_ocr/run.sqlite",
            "tests/fixtures/deepseek_ocr/run.sqlite",
            "tests/fixtures/recorded/alt_llm/run.sqlite",
            "tests/fixtures/unmarked/eager.sqlite", "tests/fixtures/unmarked/graph.sqlite"]

# Those with steps enough.
SLOPED = ["tests/fixtures/recorded/deepseek_ocr/run.sqlite",
          "tests/fixtures/recorded/alt_llm/run.sqlite",
          "tests/fixtures/recorded/vllm_serve/run.sqlite"]
SLOPED += [f"tests/fixtures/ranks4/rank{rank}.sqlite" for rank in range(4)]


def exports_in_tree() -> List[str]:
    names = ["small/run", "ahead/run", "repeats/run.1", "repeats/run.2", "graphs/node",
             "graphs/graph", "unmarked/eager", "unmarked/graph", "tiny_h200/run"]
    names += [f"ranks4/rank{rank}" for rank in range(4)]
    return [os.path.join(FIXTURES, name + ".sqlite") for name in names]


def unpacked(path: str, folder: str) -> str:
    if not path.endswith(".xz"):
        return path
    target = os.path.join(folder, path.strip("/").replace("/", "_")[:-3])
    with lzma.open(path) as packed, open(target, "wb") as file:
        file.write(packed.read())
    return target


def judge_export(table: Table, program: str, path: str, title: str) -> None:
    capture = Capture(path)
    stages = stages_of(capture)
    if not stages:
        print(f"{title}\n  no range marks a stage: left out")
        return
    judge(table, title, capture, stages, results_of_export(program, path, stages))


def load(folder: str, name: str) -> dict:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def judge_digest(table: Table, program: str, folder: str, results: dict) -> None:
    """The run in a few lines has the figures of the whole."""
    made = json.loads(run(program, "digest", folder, "-f", "json"))
    stages = {stage["name"]: stage for stage in results["stages"]}
    for one in made["stages"]:
        stage = stages[one["key"]]
        table.row(f"digest, {one['key']}: ns", one["time_ns"], gains.time_of(results, stage))
        table.row(f"digest, {one['key']}: busy ns", one["gpu_busy_ns"], stage["gpu_busy_ns"])
        table.row(f"digest, {one['key']}: idle %", 100 * one["idle_share"], 100 * (
            gains.idle_of(results, stage) / gains.time_of(results, stage)))
    for move, finding in zip(made["moves"], results["advice"]["findings"]):
        table.row(f"digest, {move['key']}: gain ns", move["gain_ns"], finding.get("gain_ns"))


def judge_recorded(table: Table, program: str, recipe: str, folder: str) -> None:
    own = None
    if recipe == "deepseek_ocr":
        plain = [name for name in ("before.json", "after.json")
                 if os.path.exists(os.path.join(folder, name))]
        own = model.compute(load(folder, "metrics.json"), [load(folder, name) for name in plain])
    capture = Capture(os.path.join(folder, "run.sqlite"))
    raw = os.path.join(folder, "ncu", "raw.csv")
    with tempfile.TemporaryDirectory() as out:
        results = results_of_recipe(program, recipe, folder, out + "/run")
        judge(table, os.path.relpath(folder, ROOT), capture, stages_of(capture), results,
              raw if os.path.exists(raw) else None, own, folder)
        judge_digest(table, program, out + "/run", results)
    if os.path.exists(os.path.join(folder, "operators.json")):
        mine = operators_by_name.ours(results)
        operators = load(folder, "operators.json")["operators"]
        found = operators_by_name.compute(capture, stages_of(capture), operators)
        if results["operators"]["joined"]["by_order"]["launches"]:
            mine = operators_by_name.at_least(mine, found)
            found = {name: found[name] for name in mine}
        for name in sorted({**mine, **found}):
            table.row(name, mine.get(name), found.get(name))


def judge_files(table: Table, program: str, paths: List[str], title: str) -> None:
    """Ranks that each gave a file."""
    print(title)
    with tempfile.TemporaryDirectory() as out:
        run(program, "ranks", *paths, "--out", out + "/run")
        record = load(out + "/run", "results.json")["ranks"]
    judge_ranks(table, record, None, None, meetings.of_files(paths))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, table = os.path.abspath(sys.argv[1]), Table("-q" in sys.argv[2:])
    print(f"  {'':44} {'ours':>18} {'its own':>18} {'difference':>14}")
    for recipe in ("deepseek_ocr", "alt_llm", "vllm_serve"):
        judge_recorded(table, program, recipe, os.path.join(RECORDED, recipe))
    for folder in ("deepseek_ocr", "recorded/deepseek_ocr"):
        judge_recorded(table, program, "deepseek_ocr", os.path.join(FIXTURES, folder))
    for name in ("ranks4", "nccl2"):
        paths = sorted(glob.glob(os.path.join(FIXTURES, name, "rank*.sqlite")))
        judge_files(table, program, paths, "tests/fixtures/" + name)
    for path in exports_in_tree():
        judge_export(table, program, path, os.path.relpath(path, ROOT))
    judge_samples(table, program, os.path.join(FIXTURES, "cpu_samples", "run.sqlite"),
                  "tests/fixtures/cpu_samples/run.sqlite")
    judge_collapsed(table, program, os.path.join(FIXTURES, "cpu_samples"))
    given = os.environ.get("LLMPROF_CAPTURES")
    with tempfile.TemporaryDirectory() as folder:
        for name in UNMARKED:
            judge_stripped(table, program, os.path.join(ROOT, name), folder, name)
        for name in SLOPED:
            judge_slope(table, program, os.path.join(ROOT, name), folder, name)
        for path in sorted(glob.glob(f"{given}/**/*.sqlite*", recursive=True)) if given else []:
            judge_export(table, program, unpacked(path, folder), path)
            judge_slope(table, program, unpacked(path, folder), folder, path)
            judge_samples(table, program, unpacked(path, folder), path)
            if not labelled(Capture(unpacked(path, folder))):
                judge_stripped(table, program, unpacked(path, folder), folder, path)
        for path in sorted(glob.glob(f"{given}/**/*.spool*", recursive=True)) if given else []:
            judge_recording(table, program, unpacked(path, folder), folder)
    print(f"{table.count} figures compared, {table.wrong} differ")
    sys.exit(1 if table.wrong else 0)


if __name__ == "__main__":
    main()
