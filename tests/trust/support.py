"""Running llmprof on what strangers hand over: shared by the tests of this folder.

A test file is run as FILE.py PROGRAM in the source tree.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, List, Optional

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
CAPTURE = ROOT / "tests/fixtures/deepseek_ocr"
SMALL = ROOT / "tests/fixtures/small"
RECIPE = "recipes/deepseek_ocr.lua"

# A run in a fifteenth of the time that one of CAPTURE takes.
RECORDED = [RECIPE, "capture=recorded", f"recorded={SMALL}"]

# What only a bug prints, whatever the file.
BUGS = (b"stack traceback", b"this is a bug in llmprof", b"AddressSanitizer", b"LeakSanitizer",
        b"runtime error:", b"Assertion")

# What a terminal acts on: control characters but tab and newline, of one and of two
# bytes, and turns of the direction of writing; and what only an agent sees: spaces of no
# width, fillers, variation selectors, tags.
ACTED_ON = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xd8\x9c"
                      rb"|\xe1\x85[\x9f\xa0]|\xe1\xa0\x8e|\xe2\x80[\x8b-\x8f\xaa-\xae]"
                      rb"|\xe2\x81[\xa0-\xaf]|\xe3\x85\xa4|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf"
                      rb"|\xf3\xa0[\x80-\x87]")

# Longer than any command of these tests takes, even under a sanitizer.
PATIENCE = 300

program = ""


class Result:
    """What a command left: status, out and err as bytes, how long it took in s."""

    def __init__(self, done: subprocess.CompletedProcess):
        self.status = done.returncode
        self.out, self.err = done.stdout, done.stderr

    def last_line(self) -> str:
        lines = self.err.decode("utf-8", "replace").splitlines()
        said = [line for line in lines if line.startswith("llmprof: ")]
        return said[-1] if said else ""


def environment(**more: str) -> Dict[str, str]:
    """The least that commands need, and the options of sanitizers."""
    env = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    env.update(PATH=os.environ["PATH"], LC_ALL="C.UTF-8", NO_COLOR="1", **more)
    return env


class Case(unittest.TestCase):
    """A test with a folder of its own, which is the home and the cache, too."""

    maxDiff = None

    def setUp(self) -> None:
        folder = tempfile.mkdtemp(prefix="llmprof-trust.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.top = Path(folder)

    def env(self, **more: str) -> Dict[str, str]:
        return environment(HOME=str(self.top), XDG_CACHE_HOME=str(self.top / "cache"),
                           TMPDIR=str(self.top), **more)

    def llmprof(self, *words: object, env: Optional[Dict[str, str]] = None,
                wrap: Optional[List[str]] = None, **options) -> Result:
        """Run it; whatever it says, it is no bug and nothing that a terminal acts on."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("cwd", ROOT)
        argv = (wrap or []) + [program] + [str(word) for word in words]
        done = subprocess.run(argv, env=env or self.env(), stderr=subprocess.PIPE,
                              timeout=PATIENCE, check=False, **options)
        self.check_said(done.stdout or b"", done.stderr)
        return Result(done)

    def begin(self, *words: object, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        """Start it; the test takes what it says."""
        return subprocess.Popen([program, *map(str, words)], cwd=ROOT, env=self.env(), stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def lines_of(self, script: str, paths: List[Path]) -> List[List[str]]:
        """What a script of this folder prints of files: fields between tabs."""
        result = self.does("exec", f"tests/trust/{script}.lua", *paths)
        return [line.split("\t") for line in result.out.decode().splitlines()]

    def check_said(self, out: bytes, err: bytes) -> None:
        for sign in BUGS:
            self.assertNotIn(sign, err, err.decode("utf-8", "replace"))
        for bytes_said in (out, err):
            found = ACTED_ON.search(bytes_said)
            self.assertIsNone(found, bytes_said[:200] if found else None)

    def refuses(self, sentence: str, *words: object, **options) -> Result:
        """It fails and says so, with the sentence in its last line."""
        result = self.llmprof(*words, **options)
        self.assertNotEqual(0, result.status, words)
        self.assertIn(sentence, result.last_line())
        return result

    def does(self, *words: object, **options) -> Result:
        result = self.llmprof(*words, **options)
        self.assertEqual(0, result.status, result.err.decode("utf-8", "replace"))
        return result

    # ---- inputs ----

    def trace(self, fixture: Path, sql: str = "", name: str = "trace.sqlite") -> Path:
        """A copy of an export, changed."""
        path = self.top / name
        shutil.copyfile(fixture, path)
        edit(path, sql)
        return path

    def capture(self, fixture: Optional[Path] = None, sql: str = "", of: Path = CAPTURE) -> Path:
        """A copy of a recorded capture, with another timeline and changed."""
        folder = self.top / "capture"
        shutil.copytree(of, folder)
        if fixture:
            (folder / "run.sqlite").unlink()
            shutil.copyfile(fixture, folder / "run.sqlite")
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        edit(folder / "run.sqlite", sql)
        return folder

    def analyse(self, capture: Path = SMALL, *words: str, **options) -> Result:
        """A run of a recorded capture, into the folder `out`."""
        return self.llmprof(RECIPE, "capture=recorded", f"recorded={capture}",
                            f"out={self.top / 'out'}", "-q", *words, **options)


def edit(path: Path, sql: str) -> None:
    if not sql:
        return
    with sqlite3.connect(path) as database:
        database.executescript(sql)
    database.close()


def main() -> None:
    """Run the tests of the file that was started."""
    global program
    program = str(Path(sys.argv[1]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
