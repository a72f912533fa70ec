#!/usr/bin/env python3
"""Is the table "To add something" of docs/architecture.md true?

Rows of it are done on a copy of the tree, by the program as it is: $LLMPROF_HOME is the copy.
With all of its places the tests of a row are green; with one left out, the test is red that
the row names. usage: added.py LLMPROF
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LLMPROF = Path(sys.argv[1]).resolve()
TREE = Path.cwd()
COPIED = ("lua", "docs", "conf", "core", "include", "tests/lua", "tests/lint")
LINKED = ("recipes", "completions")

# The part of a long test that looks at what is added.
PARTS = {"lua.report.figures": "that has a column has a value there"}

RULE = """local rule = { name = "planted" }
function rule.examine(_, report) return report.abstain "no stage was measured" end
return rule
"""
COMMAND = """return { name = "planted", run = function() return 0 end }
"""


class Copy:
    """A copy of the tree, and what was changed in it."""

    def __init__(self, folder):
        self.folder = folder
        self.changed = set()
        for name in COPIED:
            shutil.copytree(TREE / name, folder / name)
        for path in [TREE / name for name in LINKED] + list((TREE / "tests").iterdir()):
            place = folder / path.relative_to(TREE)
            if not place.exists():
                place.symlink_to(path)

    def restore(self):
        for name in self.changed:
            (self.folder / name).unlink()
            if (TREE / name).exists():
                shutil.copy(TREE / name, self.folder / name)
        self.changed.clear()

    def write(self, name, text):
        self.changed.add(name)
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def before(self, name, mark, line):
        """Put a line before the first one that has a mark."""
        text = (self.folder / name).read_text(encoding="utf-8")
        assert mark in text, f"{name} has no '{mark}'"
        at = text.rfind("\n", 0, text.index(mark) + 1) + 1
        self.write(name, text[:at] + line + "\n" + text[at:])

    def run(self, *words):
        return subprocess.run([LLMPROF, "exec", *words], cwd=self.folder, text=True,
                              env={**os.environ, "LLMPROF_HOME": "."},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def update(self, name, lint):
        """Have a lint write a file."""
        self.changed.add(name)
        made = self.run(f"tests/lint/{lint}.lua", "--update")
        assert made.returncode == 0, made.stdout

    def test(self, name):
        """Run a test that ctest knows: its exit status and what it said."""
        kind, _, path = name.partition(".")
        if kind == "lint":
            return self.run(f"tests/lint/{path}.lua")
        part = ["--filter", PARTS[name]] if name in PARTS else []
        return self.run("tests/lua/run.lua", *part,
                        f"tests/lua/spec/{path.replace('.', '/')}_spec.lua")


def insert(name, mark, line):
    return lambda copy: copy.before(name, mark, line)


def write(name, text):
    return lambda copy: copy.write(name, text)


def update(name, lint):
    return lambda copy: copy.update(name, lint)


def another_gpu(copy):
    text = (copy.folder / "conf/hardware/l4.yaml").read_text(encoding="utf-8")
    copy.write("conf/hardware/planted.yaml", text.replace("NVIDIA L4", "NVIDIA Planted"))


# What is added, and its other places: each with the test that is red without it.
ROWS = {
    "a column over a figure": (
        insert("lua/llmprof/report/columns.lua", "return columns",
               'columns.kernels[#columns.kernels + 1] = count("planted", "launches")'),
        [(insert("lua/llmprof/report/rows.lua", "row.shapes, row.counted", "row.planted = 1"),
          "lua.report.figures"),
         (insert("lua/llmprof/report/columns.lua", "return columns",
                 'columns.kernels[#columns.kernels].meaning = "planted"'), "lint.columns")]),
    "an advice rule": (
        write("lua/llmprof/advice/planted.lua", RULE),
        [(write("tests/lua/spec/advice/planted_spec.lua", "-- planted\n"), "lua.advice.advice"),
         (insert("docs/advice.md", "| `throttling` |", "| `planted` | | |"),
          "lua.advice.advice"),
         (insert("tests/lua/spec/advice/advice_spec.lua", "\nprefill_stalls abstains",
                 "planted abstains"), "lua.advice.advice")]),
    "a GPU": (
        another_gpu,
        [(insert("tests/lua/spec/model/hardware_spec.lua", '{ "NVIDIA GeForce RTX 5090"',
                 '{ "NVIDIA Planted", 121, 300, 58 },'), "lua.model.hardware")]),
    "a file of the bundle": (
        insert("lua/llmprof/bundle/layout.lua", "results = ", 'planted = "planted.json",'),
        [(insert("docs/bundle.md", "| `results.json`", "| `planted.json` | | |"),
          "lint.layout")]),
    "a command, an option, a choice": (
        write("lua/llmprof/cli/commands/planted.lua", COMMAND),
        [(insert("docs/llmprof.1", ".It Cm new Oo", ".It Cm planted\nDo nothing."),
          "lint.man"),
         (insert("lua/llmprof/cli/commands.lua", "  new = ", '  planted = "do nothing",'),
          "lint.man")]),
    "an exit status": (
        insert("lua/llmprof/process/errors.lua", "launcher = 125", "planted = 77,"),
        [(insert("docs/llmprof.1", ".It 125", ".It 77\nPlanted."), "lint.man")]),
    "a figure of `compare`": (
        insert("lua/llmprof/compare/metrics.lua", "local of_the_run",
               'of_a_stage[#of_a_stage + 1] = "planted"'),
        [(insert("docs/compare.md", "| `STAGE.category.NAME`", "| `STAGE.planted` | | |"),
          "lua.compare.metrics")]),
    "a module": (
        write("lua/llmprof/planted/README.md", "# planted\n\nMay use: io.\n"),
        [(insert("docs/architecture.md", "| `advice` | ", "| `planted` | Planted. |"),
          "lint.layers")]),
    "a function for other programs": (
        insert("include/llmprof/version.h", "const char *llmprof_version",
               "void llmprof_planted(void);"),
        [(update("core/exports.txt", "exports"), "lint.exports")]),
}


def named():
    """The tests that each row of the table names."""
    page = (TREE / "docs/architecture.md").read_text(encoding="utf-8")
    section = page[page.index("\n## To add something"):]
    return {row[0]: set(re.findall(r"`((?:lua|lint)\.[\w.]+)`", row[2]))
            for row in (line.strip("| ").split(" | ") for line in section.split("\n")
                        if line.startswith("| ")) if len(row) == 3}


def try_row(copy, thing, places):
    """What is wrong with a row."""
    faults = []
    for left_out in [None, *range(len(places))]:
        copy.restore()
        thing(copy)
        for number, (place, _) in enumerate(places):
            if number != left_out:
                place(copy)
        tests = sorted({test for _, test in places}) if left_out is None \
            else [places[left_out][1]]
        for test in tests:
            made = copy.test(test)
            if (made.returncode == 0) != (left_out is None):
                what = "with all places" if left_out is None else f"without place {left_out + 1}"
                faults.append(f"{what} {test} ends with {made.returncode}:\n{made.stdout}")
    return faults


def main():
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        tests_of = named()
        faults = []
        for name, (thing, places) in ROWS.items():
            for _, test in places:
                if test not in tests_of.get(name, set()):
                    faults.append(f"{name}: the table does not name {test}")
            faults += [f"{name}: {fault}" for fault in try_row(copy, thing, places)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
