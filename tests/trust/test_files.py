"""Files that are no files, and databases that are not what they seem: nothing waits, and
what cannot be read right is one line."""

import json
import os
import shutil
import socket
import sqlite3

import support
from support import FIXTURES, RECIPE, RECORDED, SMALL

WHOLE = FIXTURES / "unmarked/whole.sqlite"
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
IRREGULAR = "not a regular file"


class Opening(support.Case):
    """A command that opened a named pipe would not end."""

    def bundle(self):
        root = self.top / "runs"
        self.does(*RECORDED, f"run.root={root}", "run.id=r", "-q")
        return root, root / "r"

    def test_named_traces(self):
        pipe, folder = self.top / "a.sqlite", self.top / "folder"
        os.mkfifo(pipe)
        folder.mkdir()
        plug = self.top / "socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(plug))
        for path in (pipe, plug, "/dev/zero"):
            self.refuses(IRREGULAR, "stats", path)
            self.refuses(IRREGULAR, "scrub", path, "-o", self.top / "out")
            self.refuses(IRREGULAR, "operators", path)
        for command in ("stats", "scrub", "operators"):
            self.refuses("no trace in it", command, folder)
        self.refuses(IRREGULAR, "exec", pipe)

    def test_parts_of_a_bundle(self):
        root, run = self.bundle()
        self.does("ls", "--root", root)
        commands = [["ls", "--root", root], ["clean", "--root", root, "--dry-run", "r"],
                    ["show", run, "stages"], ["digest", run], ["open", run, "--print"],
                    ["compare", "--root", root, "r", "r"], ["scrub", run],
                    ["export", run, "-o", self.top / "out"], ["ls", "--root", root, "r"],
                    [RECIPE, f"run.root={root}", "--resume", "r", "-q"],
                    ["-e", "#kernels, #counters", run], ["mcp"]]
        whole = self.top / "whole"
        run.rename(whole)
        for name in ("manifest.json", "results.json", "config.yaml", "nsys/run.sqlite"):
            shutil.rmtree(run, ignore_errors=True)
            shutil.copytree(whole, run, symlinks=True)
            (run / name).unlink()
            os.mkfifo(run / name)
            for words in commands:
                with self.subTest(name=name, words=words):
                    self.llmprof(*words)

    def test_parts_of_a_capture(self):
        for name in ("capture.json", "metrics.json", "run.sqlite"):
            capture = self.capture(of=SMALL)
            (capture / name).unlink()
            os.mkfifo(capture / name)
            self.assertIn(IRREGULAR, self.analyse(capture).err.decode())
            shutil.rmtree(capture)
            shutil.rmtree(self.top / "out")


class Databases(support.Case):
    def refused(self, sentence, sql):
        self.refuses(sentence, "stats", self.trace(WHOLE, sql), "-r", "cuda_gpu_kern_sum")

    def test_views(self):
        self.refused(f"{KERNEL} is a view", f"DROP TABLE {KERNEL}; CREATE VIEW {KERNEL} AS "
                     "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
                     "SELECT x AS start, x + 1 AS end, 1 AS demangledName FROM c")

    def test_other_names(self):
        self.refused(f"no table {KERNEL}, but k has its columns",
                     f"ALTER TABLE {KERNEL} RENAME TO k")
        self.refused(f"no table {MEMCPY}, but k has its columns",
                     f"ALTER TABLE {MEMCPY} RENAME TO k")

    def test_names_of_another_case(self):
        words = ["stats", "-r", "cuda_gpu_kern_sum", "-f", "csv"]
        expected = self.does(*words, WHOLE).out
        renamed = self.trace(WHOLE, f"ALTER TABLE {KERNEL} RENAME TO k; "
                             f"ALTER TABLE k RENAME TO {KERNEL.lower()}")
        self.assertEqual(expected, self.does(*words, renamed).out)

    def test_an_id_without_a_negative(self):
        self.refused("StringIds has an id that is NULL or -2^63",
                     "INSERT INTO StringIds VALUES (-9223372036854775807 - 1, 'x')")

    def test_a_log_that_is_missing(self):
        path, copy = self.trace(WHOLE), self.top / "copy.sqlite"
        database = sqlite3.connect(path)
        database.executescript("PRAGMA journal_mode = WAL; UPDATE StringIds SET value = 'x'")
        shutil.copyfile(path, copy)
        database.close()
        self.refuses("copy.sqlite-wal, which is not there", "stats", copy)

    def test_long_paths(self):
        folder = self.top / "/".join(["d" * 200] * 3)
        folder.mkdir(parents=True)
        path = self.trace(WHOLE, name=f"{folder}/trace.sqlite")
        expected = self.does("stats", WHOLE).out
        self.assertEqual(expected.replace(str(WHOLE).encode(), b""),
                         self.does("stats", path).out.replace(str(path).encode(), b""))
        self.does("scrub", path, "-o", folder / "out.sqlite")


class LongNames(support.Case):
    def test_one_of_20_mb(self):
        size = 20_000_000
        path = self.trace(WHOLE, f"UPDATE StringIds SET value = 'x' || replace(hex("
                          f"zeroblob({size // 4})), '0', 'é') "
                          f"WHERE id = (SELECT demangledName FROM {KERNEL})")
        env = self.env(LLMPROF_LIMITS=f"bytes={4 * size}")
        result = self.does("export", path, "-o", self.top / "out.json", env=env)
        self.assertIn("names of more than 8 KiB, which are cut there: 1", result.last_line())
        names = {event["name"] for event in
                 json.loads((self.top / "out.json").read_text())["traceEvents"]}
        self.assertIn("x" + "é" * 4095 + "…", names)


if __name__ == "__main__":
    support.main()
