"""Texts of strangers in every place that has one: a terminal, a spreadsheet and a browser
are given nothing that they act on."""

import csv
import io
import json
import os
import pty
import shutil
import subprocess
import tty
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, List, Tuple

import support
from support import RECIPE, RECORDED, SMALL

# What an agent reads and a person does not see.
UNSEEN = ('\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200d\u200f\u2060\u2064\u3164'
          '\ufe00\ufe0f\ufeff\U000e0001\U000e0041\U000e01ef')

# What is put behind every text. Each part is for another reader of it.
EVIL = (UNSEEN + '\x1b]0;OWNED\x07\x1b[31m\x9b2J\u202ex\u2066|`<script>alert(1)</script>'
        '"onload="x" [a](javascript:b) \n# h\n```\n$(touch /tmp/x); rm -rf /')

# Keys whose values have a form of their own: a file with another is refused.
FORMED = {"date", "schema_version", "weights", "source", "status", "created", "started", "ended",
          "file", "id", "run_id", "recipe"}


def poisoned(value: Any, key: str = "") -> Any:
    """The same with every free text made evil."""
    if isinstance(value, dict):
        return {name: poisoned(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, key) for item in value]
    return value + EVIL if isinstance(value, str) and key not in FORMED else value


class Page(HTMLParser):
    """What a browser would load or run; the page's own style and scripts have no source."""

    def __init__(self) -> None:
        super().__init__()
        self.acts: List[Tuple[str, str]] = []
        self.scripts: List[str] = []
        self.inside = False

    def handle_starttag(self, tag, attrs):
        self.inside = tag == "script"
        for name, value in attrs:
            outside = name in ("href", "src", "action") and value and not value.startswith("#")
            if name.startswith("on") or outside:
                self.acts.append((tag, name))
            self.inside = self.inside and name != "type"  # of data

    def handle_data(self, data):
        if self.inside:
            self.scripts.append(data)
            self.inside = False


def scripts_of(page: Path) -> Page:
    reader = Page()
    reader.feed(page.read_text(errors="replace"))
    return reader


class Texts(support.Case):
    def evil_capture(self) -> Path:
        quoted = EVIL.replace("'", "''")
        capture = self.capture(sql="UPDATE StringIds SET value = '=' || value || '{quoted}' "
                               "WHERE value NOT LIKE 'cu%';"
                               f"UPDATE TARGET_INFO_GPU SET name = name || '{quoted}';"
                               f"UPDATE PROCESSES SET name = '{quoted}';")
        for name in ("capture.json", "metrics.json", "before.json", "after.json",
                     "operators.json"):
            path = capture / name
            path.write_text(json.dumps(poisoned(json.loads(path.read_text()))))
        return capture

    def check_tables(self, run: Path) -> None:
        """Every table, as a terminal and a spreadsheet are given it."""
        listed = self.does("show", run, "-f", "json")
        names = [row["section"] if "section" in row else row["name"]
                 for row in json.loads(listed.out)]
        self.assertGreater(len(names), 10)
        for name in names:
            self.does("show", run, name)
            said = self.does("show", run, name, "-f", "csv", "--safe").out.decode()
            for row in csv.reader(io.StringIO(said, newline="")):
                for cell in row:
                    self.assertNotRegex(cell, r"^[=+@\t\r]|^-[^\d.]", name)

    def test_a_poisoned_capture(self):
        result = self.analyse(self.evil_capture())
        self.assertEqual(0, result.status, result.last_line())
        out = self.top / "out"
        plain = self.top / "plain"
        self.does(RECIPE, "capture=recorded", f"out={plain}", "-q")
        self.check_tables(out)
        page, sound = scripts_of(out / "report.html"), scripts_of(plain / "report.html")
        self.assertEqual([], page.acts)
        # what a text takes away, as the roofline of a GPU without its name, may be missing
        self.assertEqual(set(), set(page.scripts) - set(sound.scripts))
        self.assertGreater(len(page.scripts), 3)
        for path in [*out.glob("*.md"), *out.glob("*.html"), *out.rglob("*.json"),
                     *out.rglob("*.csv")]:
            found = support.ACTED_ON.search(path.read_bytes())
            self.assertIsNone(found, path)
        for words in (("compare", out, plain), ("compare", plain, out), ("-e", "=results", out),
                      ("-e", "kernels:head(5)", out), ("stats", out / "nsys/run.sqlite"),
                      ("record", out, self.top / "copy"), ("ls", out)):
            self.llmprof(*words)  # looks at every byte that it says

    def test_stats_for_programs_and_people(self):
        """CSV of a pipe is that of nsys, byte for byte; a terminal is shown what is in it."""
        trace = self.trace(support.CAPTURE / "run.sqlite",
                           f"UPDATE StringIds SET value = value || '{UNSEEN}'")
        words = ("stats", trace, "-f", "csv", "-r", "cuda_gpu_kern_sum")
        piped = subprocess.run([support.program, *words], env=self.env(), check=True,
                               stdin=subprocess.DEVNULL, capture_output=True).stdout.decode()
        self.assertIn(UNSEEN, piped)
        shown = piped.replace(UNSEEN, "".join(f"\\u{{{ord(c):x}}}" for c in UNSEEN))
        self.assertEqual(shown, self.does(*words, "--safe").out.decode())
        screen, terminal = pty.openpty()
        tty.setraw(terminal)
        self.does(*words, "-n", 3, stdout=terminal)
        os.close(terminal)
        said = os.read(screen, 1 << 16).decode()
        os.close(screen)
        self.assertTrue(shown.startswith(said), said)

    def test_hints_of_a_file_are_texts(self):
        capture = self.capture(of=SMALL)
        (capture / "ncu/raw.csv").write_bytes(b'"ID","Kernel Name"\n"1","a"b\xff\x1b[31m"\n')
        self.assertEqual(0, self.analyse(capture).status)
        path = self.top / "out/results.json"
        results = json.loads(path.read_text())
        self.assertTrue(results["missing"])
        for entry in results["missing"]:
            entry["how"] += EVIL
            entry["why"] += EVIL
        path.write_text(json.dumps(results))
        for form in ("table", "md", "csv", "json"):
            self.does("show", self.top / "out", "missing", "-f", form)
        result = self.does("show", self.top / "out", "ranges")
        self.assertNotIn(b"rm -rf", result.err.split(b" is empty")[0])

    def test_names_of_files_and_runs(self):
        root = self.top / "runs"
        self.does(*RECORDED, f"run.root={root}", "run.id=r", "-q")
        evil = EVIL.replace("/", ":")[:80]
        shutil.copytree(root / "r", root / evil, symlinks=True)
        (root / ("broken" + evil)).mkdir()
        (root / ("broken" + evil) / "manifest.json").write_text("{" + EVIL)
        trace = self.top / (evil + ".sqlite")
        trace.write_bytes(b"SQLite format 3\0" + b"\xff" * 500)
        self.does("ls", "--root", root)
        for words in (("show", "--root", root, evil), ("show", "--root", root, "broken" + evil),
                      ("compare", "--root", root, evil, "r"), ("stats", trace),
                      ("export", trace), ("-e", "kernels", trace), ("-e", "error('" + "\\27[31m')"),
                      ("-e", "=" + "'\\27]0;x\\7'"), (evil,), (evil + ".lua",), ("help", evil),
                      ("baseline", "save", "--root", root, "r", evil),
                      (RECIPE, evil + "=1"), (RECIPE, "--config", evil),
                      ("clean", "--root", root, "--keep", 0, "-y", "--dry-run")):
            self.llmprof(*words)
        for words in (("show", ""), ("stats", str(self.top) + "/"), (RECIPE, "mode=" + evil)):
            self.llmprof("complete", "--", *words, cwd=root.parent)

    def test_what_completion_offers(self):
        """A word each, of which a shell runs nothing, and no word out of a manifest."""
        root, evil = self.top / "tmp/stage2", "$(touch ran); touch ran; `touch ran` '\\\""
        self.does(*RECORDED, f"run.root={root}", "run.id=r", "-q")
        self.does("baseline", "save", "--root", root, "r", "b")
        for path in (root / "r/manifest.json", root / "baselines/b/baseline.json"):
            said = json.loads(path.read_text())
            said["recipe"] = "x\n$(touch ran)\tabout\n" + EVIL
            if "run" in said:
                said["run"] = said["recipe"]
            path.write_text(json.dumps(said))
        shutil.copytree(root / "r", root / evil, symlinks=True)
        named = {"r", evil, "latest", "b"}
        said = self.does("complete", "--", "compare", "", cwd=self.top).out.decode()
        self.assertEqual(named, {line.split("\t")[0] for line in said.splitlines()})
        script = self.top / "ask.sh"
        script.write_text(f"""
            eval "$('{support.program}' completion bash)"
            COMP_LINE="{support.program} compare "
            COMP_POINT=${{#COMP_LINE}}
            _llmprof
            for word in "${{COMPREPLY[@]}}"; do eval "set -- $word"; printf '%s\\n' "$#" "$@"; done
        """)
        done = subprocess.run(["bash", script], env=self.env(), cwd=self.top, text=True,
                              capture_output=True, check=True)
        lines = done.stdout.splitlines()
        self.assertEqual(["1"] * len(named), lines[::2])
        self.assertEqual(named, set(lines[1::2]))
        self.assertFalse((self.top / "ran").exists())


if __name__ == "__main__":
    support.main()
