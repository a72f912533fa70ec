"""The working directory of a stranger: nothing there is used that nobody typed."""

import json
import shutil
from pathlib import Path
from typing import Dict, List

import support

RECORDED = support.RECORDED[1:]
SAYS = "says what is run: tools.nsys="

RECIPE = """return require("llmprof.recipe").recipe { name = "mine", mode = "%s",
  workload = function() return { argv = { "true" } } end }
"""


class Folder(support.Case):
    """Programs that say that they ran, and files that would have them run."""

    def setUp(self) -> None:
        super().setUp()
        self.here, self.ran = self.top / "here", self.top / "ran"
        self.evil = self.program("evil")
        self.here.mkdir()

    def program(self, name: str) -> Path:
        path = self.top / name
        path.write_text(f"#!/bin/sh\ntouch {self.ran}\nexit 1\n")
        path.chmod(0o755)
        return path

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def preset(self, folder: Path, *names: str) -> None:
        for name in names:
            self.write(folder / f"conf/mode/{name}.yaml",
                       f"tools: {{nsys: {self.evil}}}\ntop_n.kernels: 7\n")

    def recipe(self, path: Path, mode: str = "own") -> Path:
        return self.write(path, RECIPE % mode)

    def start(self, *words: object, **options) -> support.Result:
        """Run it in the folder."""
        return self.llmprof(*words, cwd=self.here, **options)

    def runs(self, *words: object, **options) -> bool:
        """Does this run the program?"""
        self.ran.unlink(missing_ok=True)
        self.start(*words, "-q", **options)
        return self.ran.exists()

    def check_refused(self, *words: object, **options) -> None:
        self.assertFalse(self.runs(*words, **options))
        result = self.start(*words, "-q", **options)
        self.assertEqual(2, result.status)
        self.assertIn(SAYS + str(self.evil), result.last_line())
        self.assertTrue(self.runs(*words, "--trust-config", **options))


class Presets(Folder):
    def test_those_of_the_folder_are_not_found(self):
        self.preset(self.here, "light", "default", "deep", "own")
        for word in ("toy_llm", "recipes/toy_llm.lua", "toy_llm.lua"):
            for mode in ("light", "default", "deep"):
                with self.subTest(f"{word} {mode}"):
                    self.assertFalse(self.runs(word, f"mode={mode}", "toy.binary=/bin/true",
                                               "--trust-config"))
            result = self.start(word, "mode=own")
            self.assertIn("no mode preset 'own'", result.last_line())

    def test_those_of_a_recipe_named_as_a_path_need_trust(self):
        project = self.top / "project"
        self.preset(project, "own")
        for recipe in (project / "mine.lua", project / "recipes/mine.lua"):
            with self.subTest(recipe):
                self.recipe(recipe)
                said = self.start(recipe, "--print-config").out.decode()
                self.assertRegex(said, rf"kernels: 7 +# {project}/conf/mode/own.yaml\n")
                self.check_refused(recipe)
        shutil.copytree(project, self.here, dirs_exist_ok=True)
        for word in ("mine.lua", "recipes/mine.lua", "./recipes/mine.lua"):
            with self.subTest(word):
                self.check_refused(word)

    def test_nothing_is_asked_of_a_preset_that_runs_nothing(self):
        self.recipe(self.here / "mine.lua")
        self.write(self.here / "conf/mode/own.yaml", "top_n.kernels: 7\n")
        self.assertNotIn("says what is run", self.start("mine.lua", "-q").last_line())

    def test_a_file_of_settings_that_chooses_one_needs_trust(self):
        self.recipe(self.here / "mine.lua", "default")
        self.preset(self.here, "own")
        self.write(self.here / "settings.yaml", "mode: own\n")
        self.check_refused("mine.lua", "--config", "settings.yaml")

    def test_those_of_the_user_and_of_the_home_are_trusted(self):
        self.recipe(self.here / "mine.lua")
        self.preset(self.top / "config/llmprof", "own")
        self.assertTrue(self.runs("mine.lua", env=self.env(
            XDG_CONFIG_HOME=str(self.top / "config"))))
        self.assertFalse(self.runs("mine.lua"))
        self.preset(self.here, "own")
        self.assertTrue(self.runs("mine.lua", env=self.env(LLMPROF_HOME=str(self.here))))
        self.assertTrue(self.runs("toy_llm", "mode=own", "toy.binary=/bin/true",
                                  env=self.env(LLMPROF_HOME=str(self.here))))


class Modules(Folder):
    def test_doctor_imports_none_of_the_folder(self):
        self.write(self.here / "torch.py", f"open({str(self.ran)!r}, 'w')\n")
        self.assertIn("torch", self.start("doctor").out.decode())
        self.assertFalse(self.ran.exists())


class Recipes(Folder):
    def evil_recipe(self, name: str) -> None:
        self.write(self.here / name, f"os.execute '{self.evil}'\n")

    def test_a_name_is_of_one_that_ships(self):
        for name in ("deepseek_ocr.lua", "recipes/deepseek_ocr.lua"):
            self.evil_recipe(name)
        self.assertFalse(self.runs("deepseek_ocr", *RECORDED, "out=out"))
        self.assertTrue((self.here / "out/report.md").exists())
        self.assertTrue(self.runs("deepseek_ocr.lua"))
        self.assertTrue(self.runs("recipes/deepseek_ocr.lua"))

    def test_the_command_that_goes_on_with_it_names_it_alike(self):
        self.start("deepseek_ocr", *RECORDED, "out=out", "-q")
        said = json.loads((self.here / "out/manifest.json").read_text())
        self.assertEqual(["llmprof", "deepseek_ocr"], said["command"][:2])

    def test_the_program_of_one_that_ships_is_not_of_the_folder(self):
        self.write(self.here / "recipes/workloads/deepseek_ocr.py", "")
        self.write(self.here / "built-in:recipes/workloads/deepseek_ocr.py", "")
        python = self.write(self.top / "python", f'#!/bin/sh\nprintf %s "$1" >{self.ran}\n')
        python.chmod(0o755)
        self.start("deepseek_ocr", "capture=none", f"python={python}", "out=out", "-q")
        self.assertEqual(str(self.here / "out/workload/deepseek_ocr.py"), self.ran.read_text())
        shutil.copy(support.ROOT / "recipes/deepseek_ocr.lua", self.here / "copy.lua")
        self.start("copy.lua", "capture=none", f"python={python}", "out=copy", "-q")
        self.assertEqual(str(self.here / "copy/workload/deepseek_ocr.py"), self.ran.read_text())

    def test_a_path_that_leads_nowhere_is_one_that_ships(self):
        for word in ("recipes/deepseek_ocr.lua", "deepseek_ocr.lua", "./recipes/deepseek_ocr"):
            with self.subTest(word):
                result = self.start(word, *RECORDED, "-q")
                self.assertEqual(0, result.status)
                self.assertEqual(f"llmprof: there is no file {word}: this is the recipe "
                                 "'deepseek_ocr' that ships with llmprof\n", result.err.decode())

    def test_names_that_are_none(self):
        for word, meant in (("deepsek_ocr", "deepseek_ocr"), ("alt_lm.lua", "alt_llm.lua"),
                            ("./recipes/alt_lm.lua", "./recipes/alt_llm.lua")):
            with self.subTest(word):
                result = self.start(word)
                self.assertEqual(2, result.status)
                self.assertIn(f"(did you mean '{meant}'?)", result.last_line())

    def test_completion_runs_nothing(self):
        for name in ("deepseek_ocr.lua", "recipes/deepseek_ocr.lua", "mine.lua", "llmprof.lua"):
            self.evil_recipe(name)
        for words in (("",), ("deepseek_ocr", "infer."), ("recipes/deepseek_ocr.lua", "infer."),
                      ("./deepseek_ocr.lua", "infer."), ("run", "mine.lua", ""),
                      ("check", "mine.lua", "top"), ("sweep", "mine.lua", "mode=")):
            with self.subTest(words):
                self.assertNotEqual(b"", self.start("complete", "--", *words).out)
                self.assertFalse(self.ran.exists())
        self.assertIn(b"infer.batch=", self.start("complete", "--", "deepseek_ocr", "infer.b").out)

    def test_no_module_is_of_the_folder(self):
        self.evil_recipe("mine.lua")
        self.assertIn(b"module 'mine' not found", self.start("-e", "require 'mine'").err)
        self.assertFalse(self.ran.exists())


class Pages(Folder):
    def setUp(self) -> None:
        super().setUp()
        secret = self.write(self.top / "secret", "# TOPSECRET\n")
        for folder in (self.here / "docs", self.top / "home/docs"):
            folder.mkdir(parents=True)
            for name in ("shadow.md", "metrics.md"):
                (folder / name).symlink_to(secret)

    def read(self, page: str, **options) -> bytes:
        client = {"protocolVersion": "2025-06-18", "capabilities": {},
                  "clientInfo": {"name": "test", "version": "1"}}
        calls: List[Dict[str, object]] = [
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "resources/read", "params": {"uri": f"llmprof://docs/{page}"}}]
        lines = "".join(json.dumps({**call, "jsonrpc": "2.0"}) + "\n" for call in calls)
        path = self.write(self.top / "calls", lines)
        with path.open("rb") as stdin:
            return self.start("mcp", stdin=stdin, **options).out

    def test_pages_are_those_built_in(self):
        for env in (self.env(), self.env(LLMPROF_HOME=str(self.top / "home"))):
            self.assertIn(b"no resource", self.read("shadow.md", env=env))
            for said in (self.read("metrics.md", env=env), self.start("help", "metrics",
                                                                      env=env).out,
                         self.start("help", env=env).out):
                self.assertNotIn(b"TOPSECRET", said)
                self.assertIn(b"etrics", said)

    def test_no_link_is_followed_out_of_a_place(self):
        preset = self.top / "home/conf/mode/own.yaml"
        preset.parent.mkdir(parents=True)
        preset.symlink_to(self.top / "secret")
        result = self.start("toy_llm", "mode=own", env=self.env(
            LLMPROF_HOME=str(self.top / "home")))
        self.assertEqual(2, result.status)
        self.assertIn("a symbolic link, which is not followed", result.last_line())


if __name__ == "__main__":
    support.main()
