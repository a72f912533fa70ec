"""Folders of strangers: their links, names and commands lead nowhere."""

import json
import shutil
from pathlib import Path

import support
from support import CAPTURE, RECIPE, RECORDED, SMALL

OUTSIDE = "a symbolic link, which is not followed"


class Bundles(support.Case):
    def bundle(self) -> Path:
        self.assertEqual(0, self.analyse().status)
        return self.top / "out"

    def resume(self, run: object, *words: object) -> support.Result:
        return self.llmprof(*RECORDED, "--resume", run, "-q", *words)

    def test_a_folder_that_is_a_link_is_not_written_through(self):
        bundle, elsewhere = self.bundle(), self.top / "elsewhere"
        elsewhere.mkdir()
        shutil.rmtree(bundle / "nsys")
        (bundle / "nsys").symlink_to("../elsewhere")
        result = self.resume(bundle)
        self.assertEqual(1, result.status)
        self.assertIn(OUTSIDE, result.last_line())
        self.assertEqual([], list(elsewhere.iterdir()))

    def test_files_that_are_links_are_not_read(self):
        bundle, secret = self.bundle(), self.top / "secret"
        secret.write_text('{"a": "TOPSECRET"}')
        for name in ("results.json", "manifest.json", "nsys/run.sqlite", "workload/metrics.json"):
            with self.subTest(name):
                path = bundle / name
                kept = path.read_bytes()
                path.unlink()
                path.symlink_to(secret)
                for words in (("show", bundle, "stages"), ("compare", bundle, bundle),
                              ("record", bundle, self.top / "copy"),
                              ("export", bundle), ("-e", "print(results)", bundle)):
                    result = self.refuses(OUTSIDE, *words)
                    self.assertNotIn(b"TOPSECRET", result.out + result.err)
                path.unlink()
                path.write_bytes(kept)

    def test_lists_of_runs_do_not_follow_them(self):
        root, secret = self.top / "runs", self.top / "secret"
        secret.write_text('{"status": "TOPSECRET"}')
        self.does(*RECORDED, f"run.root={root}", "run.id=r", "-q")
        for name in ("manifest.json", "results.json"):
            with self.subTest(name):
                kept = (root / "r" / name).read_bytes()
                (root / "r" / name).unlink()
                (root / "r" / name).symlink_to(secret)
                for words in (("ls",), ("compare", "r", "nothing")):
                    result = self.llmprof(words[0], "--root", root, *words[1:])
                    self.assertNotIn(b"TOPSECRET", result.out + result.err)
                self.assertIn(OUTSIDE.encode(), self.llmprof("ls", "--root", root).err)
                (root / "r" / name).unlink()
                (root / "r" / name).write_bytes(kept)

    def test_a_run_of_a_sweep_that_is_a_link_is_not_written_through(self):
        root, elsewhere = self.top / "runs", self.top / "elsewhere"
        sweep = ["sweep", RECIPE, "top_n.kernels=5,10", *RECORDED[1:], f"run.root={root}"]
        self.does(*sweep)
        run = next(root.glob("sweep-*/kernels-5-*"))
        shutil.move(str(run), str(elsewhere))
        kept = elsewhere / "manifest.json"
        kept.write_text(kept.read_text().replace('"done"', '"failed"', 1))
        run.symlink_to(elsewhere)
        before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
        result = self.llmprof(*sweep)
        self.assertEqual(1, result.status)
        self.assertIn(OUTSIDE, result.out.decode())
        self.assertEqual(before, {path: path.read_bytes() for path in elsewhere.rglob("*")
                                  if path.is_file()})

    def test_a_run_id_is_no_path(self):
        root = self.top / "runs"
        self.does(*RECORDED, f"run.root={root}", "run.id=d", "-q")
        manifest = root / "d/manifest.json"
        said = json.loads(manifest.read_text())
        said["run_id"] = "../../../../etc"
        manifest.write_text(json.dumps(said))
        self.does(*RECORDED, f"run.root={root}", "--resume", "d", "-q")
        self.assertEqual("d", str((root / "latest").readlink()))
        shutil.move(str(root / "d"), str(self.top / "moved"))
        self.refuses("cannot name a run", "baseline", "save", "--root", root,
                     self.top / "moved", "x")

    def test_no_hint_repeats_a_command_of_the_manifest(self):
        bundle = self.bundle()
        manifest = bundle / "manifest.json"
        said = json.loads(manifest.read_text())
        said["command"] = ["llmprof", "\x1b]0;PWNED\x07\x1b[31m$(touch /tmp/PWNED)", "; rm -rf ~"]
        manifest.write_text(json.dumps(said))
        (bundle / "results.json").unlink()
        for name in ("report.html", "report.md", "kernels.md", "operators.md",
                     "stakeholder_summary.md"):
            (bundle / name).unlink()
        for words in (("show", bundle), ("open", bundle), ("compare", bundle, bundle)):
            result = self.llmprof(*words)
            self.assertNotEqual(0, result.status)
            self.assertNotIn(b"touch", result.err)
            self.assertNotIn(b"rm -rf", result.err)

    def test_hints_quote_the_names_of_folders(self):
        folder = self.bundle().rename(self.top / "a; rm -rf b")
        (folder / "results.json").write_text("{")
        result = self.llmprof("show", folder)
        self.assertIn("--resume '" + str(folder) + "'", result.err.decode())
        (folder / "results.json").unlink()
        result = self.llmprof("show", folder)
        self.assertIn("--resume '" + str(folder) + "'", result.err.decode())


class Captures(support.Case):
    def test_links_are_not_copied(self):
        capture, secret = self.capture(of=SMALL), self.top / "secret"
        secret.write_text("TOPSECRET")
        for name in ("metrics.json", "capture.json", "ncu/raw.csv", "run.sqlite"):
            with self.subTest(name):
                path = capture / name
                kept = path.read_bytes() if path.exists() else None
                if kept is not None:
                    path.unlink()
                path.symlink_to(secret)
                self.assertIn(OUTSIDE, self.analyse(capture).last_line())
                path.unlink()
                if kept is not None:
                    path.write_bytes(kept)
                copied = [file for file in (self.top / "out").rglob("*")
                          if file.is_file() and b"TOPSECRET" in file.read_bytes()]
                self.assertEqual([], copied)
                shutil.rmtree(self.top / "out")

    def test_files_of_ranks_that_are_links_are_not_copied(self):
        capture, secret = self.capture(of=SMALL), self.top / "secret"
        (capture / "run.sqlite").rename(secret)
        (capture / "rank0.sqlite").symlink_to(secret)
        self.assertIn(OUTSIDE, self.analyse(capture).last_line())
        self.assertFalse((self.top / "out/nsys/run.sqlite").exists())

    def test_the_folder_itself_may_be_a_link(self):
        (self.top / "link").symlink_to(SMALL)
        self.assertEqual(0, self.analyse(self.top / "link").status)


class Settings(support.Case):
    def settings(self, text: str) -> Path:
        path = self.top / "config.yaml"
        path.write_text(text)
        return path

    def start(self, text: str, *words: object) -> support.Result:
        return self.llmprof("tests/standin/recipe.lua", "--config", self.settings(text),
                            f"out={self.top / 'out'}", "-q", *words)

    def test_programs_of_a_file_are_not_run_unless_it_is_trusted(self):
        ran = self.top / "ran"
        evil = self.top / "evil"
        evil.write_text(f"#!/bin/sh\ntouch {ran}\n")
        evil.chmod(0o755)
        for text in (f"standin: {{program: {evil}}}", f"tools: {{nsys: {evil}}}",
                     f"python: {evil}", "nsys: {extra_args: [--env-var=LD_PRELOAD=/x]}"):
            with self.subTest(text):
                result = self.start(text)
                self.assertEqual(2, result.status)
                self.assertIn("says what is run: ", result.last_line())
                self.assertFalse(ran.exists())
                self.assertFalse((self.top / "out").exists())
        self.start(f"tools: {{nsys: {evil}}}", "--trust-config")
        self.assertTrue(ran.exists())

    def test_other_values_need_no_trust(self):
        result = self.start("infer: {max_new_tokens: 7}\npython: python3", "--print-config")
        self.assertIn(b"max_new_tokens: 7", result.out)
        self.assertEqual(0, result.status)
        said = self.start("infer: {max_new_tokens: 7}", "tools.nsys=/proc/none").last_line()
        self.assertNotIn("says what is run", said)


class Terminal(support.Case):
    def test_a_broken_table_shows_its_escapes(self):
        capture = self.capture(of=SMALL)
        (capture / "ncu/raw.csv").write_bytes(
            b'"ID","Kernel Name"\n"1","a"b\x1b]0;PWNED\x07\xe2\x80\xae"\n')
        self.assertEqual(0, self.analyse(capture).status)

    def test_a_spreadsheet_is_given_no_formula(self):
        trace = self.trace(CAPTURE / "run.sqlite", "UPDATE StringIds SET value = "
                           "'=cmd|'' /C calc''!A0' || id WHERE value LIKE '%elementwise%'")
        plain = self.does("stats", "-r", "cuda_gpu_kern_sum", "-f", "csv", trace).out
        safe = self.does("stats", "-r", "cuda_gpu_kern_sum", "-f", "csv", "--safe", trace).out
        self.assertIn(b",=cmd|", plain)
        self.assertNotIn(b",=cmd|", safe)
        self.assertIn(b",'=cmd|", safe)


if __name__ == "__main__":
    support.main()
