"""Every name below a bundle or a capture that a command opens, made a symbolic link: none
is followed, to be read or to be written.

strace tells which names a command opens. Each of them in turn is then replaced by a link to
what it was, elsewhere, and the command runs again: nothing there may be opened or changed.
LLMPROF_OPENED=all takes every name, else each sixth.
"""

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, Set

import support
from support import RECORDED, RECIPE, SMALL

# A call, its folder, the name, its flags and what became of it.
OPENED = re.compile(r'\bopen(?:at2?)?\((?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)", '
                    r"(.*)\) += (-?\d+)(?:<([^>]*)>)?")

EACH = 1 if os.environ.get("LLMPROF_OPENED") == "all" else 6


def contents(folder: Path) -> Dict[str, str]:
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()}


class Opened(support.Case):
    def setUp(self) -> None:
        super().setUp()
        if not shutil.which("strace"):
            self.skipTest("strace is not there")
        self.root, self.elsewhere = self.top / "root", self.top / "elsewhere"

    def traced(self, words: List[object]) -> List["re.Match[str]"]:
        log = self.top / "strace.txt"
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"  # it cannot be traced
        result = self.llmprof(*words, env=self.env(ASAN_OPTIONS=options),
                              wrap=["strace", "-f", "-y", "-s", "4096", "-o", str(log),
                                    "-e", "trace=open,openat,openat2"])
        self.status = result.status
        if "ptrace" in result.err.decode("utf-8", "replace"):
            self.skipTest("strace may not trace here")
        return list(filter(None, map(OPENED.search, log.read_text(errors="replace").splitlines())))

    def names(self, folder: Path, words: List[object]) -> List[str]:
        """What is opened below the folder, as far as it is there."""
        found: Set[str] = set()
        for call in self.traced(words):
            path = os.path.normpath(os.path.join(call.group(1) or str(support.ROOT),
                                                 call.group(2)))
            if path.startswith(f"{folder}/") and ".llmprof-" not in path:
                found.add(path[len(str(folder)) + 1:])
        return sorted(found)

    def check(self, folder: Path, words: Callable[[], List[object]],
              prepare: Callable[[], None]) -> None:
        """folder: of the stranger's; prepare makes it, and what the command wants beside it."""
        def fresh() -> None:
            for path in (self.root, self.elsewhere, self.top / "out"):
                shutil.rmtree(path, ignore_errors=True)
            prepare()
            shutil.copytree(folder, self.elsewhere, symlinks=True)

        fresh()
        before = contents(folder)
        names = [name for name in self.names(folder, words())
                 if name in before or (self.elsewhere / name).is_dir()]
        self.assertEqual(0, self.status)
        self.assertNotEqual([], names)
        tried = names[sum(map(ord, str(words()[0]))) % min(EACH, len(names))::EACH]
        print(f"{words()[0]}: {len(tried)} of {len(names)} names", file=sys.stderr)
        for name in tried:
            with self.subTest(words=words(), name=name):
                fresh()
                self.plant(folder, name)
                kept = contents(self.elsewhere)
                for call in self.traced(words()):
                    self.assertFalse((call.group(5) or "").startswith(f"{self.elsewhere}/"),
                                     call.group(0))
                self.assertEqual(kept, contents(self.elsewhere))

    def plant(self, folder: Path, name: str) -> None:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        path.symlink_to(self.elsewhere / name)


class Bundles(Opened):
    made = Path()

    @classmethod
    def setUpClass(cls) -> None:
        cls.made = Path(tempfile.mkdtemp(prefix="llmprof-trust.")) / "made"
        cls.addClassCleanup(shutil.rmtree, cls.made.parent)

    def setUp(self) -> None:
        super().setUp()
        if not self.made.exists():
            self.does(*RECORDED, f"run.root={self.made}", "run.id=r", "-q")
        self.run_folder = self.root / "r"

    def prepare(self) -> None:
        shutil.copytree(self.made, self.root, symlinks=True)

    def checked(self, *words: object) -> None:
        self.check(self.run_folder, lambda: list(words), self.prepare)

    def test_show(self):
        self.checked("show", self.run_folder, "stages")

    def test_digest(self):
        self.checked("digest", self.run_folder)

    def test_compare(self):
        self.checked("compare", "--root", self.root, "r", "r")

    def test_export(self):
        self.checked("export", self.run_folder, "-o", self.top / "out")

    def test_expression(self):
        self.checked("-e", "print(results, #kernels, #counters)", self.run_folder)

    def test_ask(self):
        self.checked("ask", "results, #kernels", self.run_folder)

    def test_lists(self):
        self.checked("ls", "--root", self.root)
        self.checked("ls", "--root", self.root, "r")

    def test_resume(self):
        self.checked(*RECORDED, f"run.root={self.root}", "--resume", "r", "-q")

    def test_baseline(self):
        self.checked("baseline", "save", "--root", self.root, "r", "b")

    def test_saved_baselines(self):
        def prepare() -> None:
            self.prepare()
            self.does("baseline", "save", "--root", self.root, "r", "b")

        for words in (["compare", "--root", self.root, "b", "r"],
                      ["baseline", "list", "--root", self.root],
                      ["baseline", "save", "--root", self.root, "r", "b"]):
            self.check(self.root / "baselines/b", lambda words=words: words, prepare)

    def test_clean(self):
        def prepare() -> None:
            for day in range(1, 3):
                run = self.root / f"2026010{day}-000000-x"
                shutil.copytree(self.made / "r", run)
                said = json.loads((run / "manifest.json").read_text())
                said.update(run_id=run.name, started=f"2026-01-0{day}T00:00:00Z")
                (run / "manifest.json").write_text(json.dumps(said))

        self.check(self.root / "20260101-000000-x",
                   lambda: ["clean", "-y", "--keep", "1", "--root", self.root], prepare)


class Captures(Opened):
    def test_a_run(self):
        def prepare() -> None:
            shutil.copytree(SMALL, self.root, copy_function=shutil.copyfile)

        self.check(self.root, lambda: [RECIPE, "capture=recorded", f"recorded={self.root}",
                                       f"out={self.top}/out", "-q"], prepare)


class Runs(Opened):
    """Of the stand-in tools: they are run again, and their logs written."""

    WORDS = ["tests/standin/recipe.lua", "counters=off", "operators=off", "-q"]

    def env(self, **more: str) -> Dict[str, str]:
        made = super().env(STANDIN_LOG=str(self.top / "log"), **more)
        made["PATH"] = f"{support.ROOT}/tests/standin:{made['PATH']}"
        return made

    def setUp(self) -> None:
        super().setUp()
        (self.top / "log").mkdir()
        self.does(*self.WORDS, f"run.root={self.top}/made", "run.id=r")

    def test_recorded(self):
        self.check(self.root / "r", lambda: ["record", self.root / "r", self.top / "out"],
                   lambda: shutil.copytree(self.top / "made", self.root, symlinks=True))

    def test_begun_again(self):
        def prepare() -> None:
            shutil.copytree(self.top / "made", self.root, symlinks=True)
            said = json.loads((self.root / "r/manifest.json").read_text())
            said["status"] = "failed"
            for step in said["steps"]:
                step["status"] = "failed"
            (self.root / "r/manifest.json").write_text(json.dumps(said))

        self.check(self.root / "r", lambda: [*self.WORDS, f"run.root={self.root}", "--resume",
                                             "r"], prepare)


if __name__ == "__main__":
    support.main()
