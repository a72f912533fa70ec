"""Captures without ranges, without telling names, of several processes, or cut: what is
inferred is right, and where it cannot be told nothing is.

With LLMPROF_CAPTURES=DIR (dsocr_h200, vllm_tp1_h200, vllm_tp2_h200, ranks: exports
DIR/*/*.sqlite) these are tried, too; with LLMPROF_PRINT=1 the table is printed.
"""

import json
import os
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import support
from support import CAPTURE, FIXTURES

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"

# Steps in ns, as their ranges or engines say (of dsocr the decode range over its steps, of
# the first repeat, which was slow, and of the second), and the layers of the model.
TRUTH: Dict[str, Tuple[List[float], int]] = {
    "deepseek_ocr/run": ([22.2e6], 12), "dsocr_h200/run": ([23.3e6, 58e6], 12),
    "vllm_tp1_h200/run": ([2.73e6], 16), "vllm_tp2_h200/run": ([3.7e6], 16),
    "ranks/rank0": ([4.45e6], 8), "ranks/rank1": ([4.45e6], 8),
    "ranks/rank2": ([4.45e6], 8), "ranks/rank3": ([4.45e6], 8),
}

# Steps of parts of a capture differ from the median by no more than this.
CLOSE = 0.12

STRIP = "UPDATE NVTX_EVENTS SET text = 'x', textId = NULL;"
HIDE = "UPDATE StringIds SET value = " + "replace(" * 5 + "value" + "".join(
    f", '{word}', 'x')" for word in ("ArgMax", "argmax", "multinomial", "ampl", "Sampling")) + ";"


def cut(first: float, last: float) -> str:
    """What launched from one share of the capture to another."""
    time = f"(SELECT min(start) + (max(end) - min(start)) * {{}} FROM {KERNEL})"
    return (f"CREATE TABLE cut AS SELECT {time.format(first)} AS a, {time.format(last)} AS b;"
            f"DELETE FROM {KERNEL} WHERE start < (SELECT a FROM cut) OR start > (SELECT b FROM "
            f"cut);DELETE FROM {RUNTIME} WHERE start > (SELECT b FROM cut) OR (start < (SELECT a "
            f"FROM cut) AND correlationId NOT IN (SELECT correlationId FROM {KERNEL}));"
            "DROP TABLE cut;")


# Without what comes less than four times a step: only layers are left.
ONLY_LAYERS = (f"DELETE FROM {KERNEL} WHERE demangledName IN (SELECT demangledName FROM {KERNEL} "
               f"GROUP BY demangledName, gridX HAVING count(*) < 112);")

CHANGES: List[Tuple[str, str]] = [
    ("no ranges", ""), ("and no telling names", HIDE),
    ("second half", HIDE + cut(0.5, 1.0)), ("70 to 85 %", HIDE + cut(0.7, 0.85)),
    ("50 to 60 %", HIDE + cut(0.5, 0.6)), ("last 15 %", HIDE + cut(0.85, 1.0)),
    ("last 15 %, with names", cut(0.85, 1.0)),
    ("one GPU of several", HIDE + f"DELETE FROM {KERNEL} WHERE deviceId > 0;"),
]


def captures() -> List[Tuple[str, Path]]:
    found = [("deepseek_ocr/run", CAPTURE / "run.sqlite")]
    folder = os.environ.get("LLMPROF_CAPTURES")
    for path in sorted(Path(folder).glob("*/*.sqlite")) if folder else []:
        name = f"{path.parent.name}/{path.stem}"
        if name in TRUTH:
            found.append((name, path))
    return found


class Unmarked(support.Case):
    def check(self, name: str, what: str, found: List[str]) -> None:
        steps, layers = TRUTH[name]
        with self.subTest(capture=name, what=what):
            if found[0] == "declines":
                return
            near = min(abs(int(found[0]) / step - 1) for step in steps)
            self.assertLess(near, CLOSE, found)
            self.assertEqual(str(layers), found[2])

    def test_right_or_nothing(self) -> None:
        told = 0
        for name, capture in captures():
            paths = [self.trace(capture, STRIP + sql, f"{number}.sqlite")
                     for number, (_, sql) in enumerate(CHANGES)]
            for (what, _), found in zip(CHANGES, self.lines_of("infer", paths)):
                if "LLMPROF_PRINT" in os.environ:
                    print(f"| {name} | {what} | {' | '.join(found)} |", file=sys.stderr)
                self.check(name, what, found)
                told += found[0] != "declines"
        self.assertGreaterEqual(told, 3 * len(captures()))

    def test_layers_are_no_steps(self) -> None:
        paths = [self.trace(CAPTURE / "run.sqlite", STRIP + HIDE + ONLY_LAYERS),
                 FIXTURES / "tiny_h200/run.sqlite"]
        for found in self.lines_of("infer", paths):
            if found[0] != "declines":
                self.check("deepseek_ocr/run", "only layers", found)

    def test_a_cut_step_is_no_prefill(self) -> None:
        whole = FIXTURES / "unmarked/eager.sqlite"
        for first, prefills in ((0, 2), (0.3, 1)):
            trace = self.trace(whole, "DELETE FROM NVTX_EVENTS;" + cut(first, 1),
                               f"from{first}.sqlite")
            self.does("report", trace, "--out", self.top / f"from{first}")
            made = json.loads((self.top / f"from{first}" / "results.json").read_text())
            self.assertEqual({"prefill": prefills, "decode": 2},
                             {one["name"]: one["wall"]["count"] for one in made["stages"]})


if __name__ == "__main__":
    support.main()
