"""Two of everything at once: nothing is lost, nothing is said to have worked that did not."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import List

import support
from support import RECIPE, RECORDED, ROOT

# Rounds of a race; what failed here did so in one of eight.
ROUNDS = 4

# Files of a baseline.
KEPT = ["baseline.json", "config.yaml", "metrics.json", "results.json"]


class Twins(support.Case):
    def together(self, *commands: List[object]) -> List[support.Result]:
        started = [self.begin(*words) for words in commands]
        results = []
        for child in started:
            out, err = child.communicate(timeout=support.PATIENCE)
            self.check_said(out, err)
            results.append(support.Result(subprocess.CompletedProcess([], child.returncode,
                                                                      out, err)))
        return results

    def run_into(self, root: Path, *words: object) -> List[object]:
        return [*RECORDED, f"run.root={root}", "-q", *words]

    def test_baselines_of_one_name(self):
        root = self.top / "runs"
        self.does(*self.run_into(root, "run.id=r"))
        save = ["baseline", "save", "--root", root, "r", "b"]
        for _ in range(ROUNDS):
            for result in self.together(save, save, save):
                self.assertEqual(0, result.status, result.err)
            folder = root / "baselines/b"
            kept = sorted(path.name for path in folder.rglob("*") if path.is_file())
            self.assertEqual(KEPT, kept)
            self.assertEqual([folder], list((root / "baselines").iterdir()))

    def test_a_baseline_of_a_run_that_is_removed(self):
        root = self.top / "runs"
        self.does(*self.run_into(root, "run.id=made"))
        for number in range(ROUNDS):
            shutil.copytree(root / "made", root / "r")
            manifest = root / "r/manifest.json"
            manifest.write_text(manifest.read_text().replace('"made"', '"r"', 1))
            saved, removed = self.together(["baseline", "save", "--root", root, "r", f"b{number}"],
                                           ["clean", "-y", "--root", root, "r"])
            self.assertEqual(0, removed.status, removed.err)
            kept = sorted(path.name for path in (root / f"baselines/b{number}").rglob("*")
                          if path.is_file())
            self.assertEqual(KEPT if saved.status == 0 else [], kept, saved.last_line())

    def test_runs_are_removed_twice(self):
        root = self.top / "runs"
        self.does(*self.run_into(root, "run.id=made"))
        for _ in range(ROUNDS):
            for day in range(1, 5):
                run = root / f"2026010{day}-000000-x"
                shutil.copytree(root / "made", run)
                manifest = json.loads((run / "manifest.json").read_text())
                manifest.update(run_id=run.name, started=f"2026-01-0{day}T00:00:00Z")
                (run / "manifest.json").write_text(json.dumps(manifest))
            for result in self.together(*[["clean", "-y", "--keep", 1, "--root", root]] * 3):
                self.assertEqual(0, result.status, result.err)
            self.assertEqual(["latest", "made"], sorted(path.name for path in root.iterdir()))

    def test_captures_of_one_name(self):
        standin = dict(STANDIN_LOG=str(self.top), PATH=f"{ROOT}/tests/standin:/usr/bin:/bin")
        self.does("tests/standin/recipe.lua", "counters=off", "operators=off", "-q",
                  f"out={self.top / 'out'}", env=dict(self.env(), **standin))
        for _ in range(ROUNDS):
            folder = self.top / "capture"
            results = self.together(*[["record", self.top / "out", folder]] * 3)
            self.assertEqual(1, [result.status for result in results].count(0))
            for result in results:
                said = f"llmprof: {folder}: the folder is not empty"
                self.assertIn(result.last_line(), ("", said))
            self.assertEqual(["capture.json", "metrics.json", "run.sqlite"],
                             sorted(path.name for path in folder.iterdir()))
            shutil.rmtree(folder)

    def test_runs_in_one_second(self):
        root = self.top / "runs"
        for result in self.together(*[self.run_into(root)] * 3):
            self.assertEqual(0, result.status, result.err)
        runs = [path for path in root.iterdir() if not path.is_symlink()]
        self.assertEqual(3, len(runs))
        for run in runs:
            self.assertEqual("done", json.loads((run / "manifest.json").read_text())["status"])
        self.assertIn((root / "latest").resolve(), [run.resolve() for run in runs])

    def test_runs_of_one_name(self):
        root = self.top / "runs"
        results = self.together(*[self.run_into(root, "run.id=same")] * 2)
        # the second finds the first at work, or its folder full
        self.assertIn(sorted(result.status for result in results), ([0, 1], [0, 2]))
        said = {0: "", 1: "another llmprof works on this run", 2: "run id 'same' is taken"}
        for result in results:
            self.assertIn(said[result.status], result.last_line())
        manifest = json.loads((root / "same/manifest.json").read_text())
        self.assertEqual("done", manifest["status"])

    def test_the_same_run_continued_twice(self):
        root = self.top / "runs"
        self.does(*self.run_into(root, "run.id=r"))
        (root / "r/results.json").unlink()
        results = self.together(*[self.run_into(root, "--resume", "r")] * 2)
        self.assertIn(sorted(result.status for result in results), ([0, 0], [0, 1]))
        for result in results:
            if result.status:
                self.assertIn("another llmprof works on this run", result.last_line())
        self.does("show", "--root", root, "r", "stages")

    def test_sweeps_into_one_folder(self):
        root = self.top / "runs"
        sweep = ["sweep", RECIPE, "top_n.kernels=5,10", *RECORDED[1:], f"run.root={root}"]
        results = self.together(sweep, sweep)
        for result in results:
            if result.status:
                self.assertIn("in use by another llmprof", result.last_line())
        self.assertIn(0, [result.status for result in results])
        self.assertTrue((root / "sweep-deepseek_ocr/sweep.json").is_file())

    def test_a_command_begins_anew_where_one_was_killed_before_the_manifest(self):
        out = self.top / "runs/b"
        for words in ([f"out={out}"], ["--resume", out], [f"run.root={out.parent}", "run.id=b"],
                      [f"run.root={out.parent}", "--resume", "b"]):
            with self.subTest(words):
                (out / "nsys").mkdir(parents=True)
                (out / "workload").mkdir()
                (out / "nsys/.llmprof-0123456789abcdef0123456789abcdef").write_text("half")
                self.does(*RECORDED, "-q", *words)
                self.does("show", out, "stages")
                self.assertEqual([], [path for path in out.rglob("*")
                                      if path.name.startswith(".llmprof-")])
                shutil.rmtree(out.parent)

    def test_clean_knows_what_was_killed(self):
        root = self.top / "runs"
        (root / "unborn/nsys").mkdir(parents=True)
        (root / "mine/nsys").mkdir(parents=True)
        (root / "mine/notes").write_text("x")
        self.does(*self.run_into(root, "run.id=dead"))
        manifest = root / "dead/manifest.json"
        manifest.write_text(manifest.read_text().replace('"done"', '"running"', 1))
        (root / "latest").unlink()
        self.does("clean", "--root", root, "--keep", 0, "-y")
        self.assertEqual(["mine"], sorted(path.name for path in root.iterdir()))


if __name__ == "__main__":
    support.main()
