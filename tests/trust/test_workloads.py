"""Workloads that misbehave: each run comes to an end, with a line, and leaves no process.

They run below the stand-in nsys, which starts them as nsys does: as its child.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List

import support
from support import ROOT

QUIET = ("counters=off", "operators=off", "overhead=off", "workload.timeout_s=20", "-q")


# ---- what workloads do; main() below calls one of them by its name ----

def binary() -> None:
    os.write(1, bytes(range(256)) * 200 + b"\x1b]0;x\x07\r\r\r\n\n" + b"\0" * 100000)


def lines() -> None:
    for _ in range(20):
        os.write(1, b"y\n" * 5000)


def closed() -> None:
    os.close(1)
    os.close(2)


def killnsys() -> None:
    os.kill(os.getppid(), signal.SIGKILL)


def killgroup() -> None:
    os.killpg(0, signal.SIGKILL)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def daemon() -> None:
    """Keeps the pipe, in a session of its own, deaf to what is said kindly."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            leave_pid()
            time.sleep(1000)
        os._exit(0)
    while not Path(os.environ["PIDS"]).is_file():
        time.sleep(0.01)


def forks() -> None:
    """Children that hang, in and out of the group; so does it."""
    for i in range(4):
        if os.fork() == 0:
            if i % 2:
                os.setsid()
            leave_pid()
            time.sleep(1000)
    time.sleep(1000)


def leave_pid() -> None:
    with open(os.environ["PIDS"], "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")


def metrics() -> Path:
    return Path(os.environ["LLMPROF_WORKLOAD_DIR"]) / "metrics.json"


def symlink() -> None:
    metrics().symlink_to("/etc/passwd")


def endless() -> None:
    metrics().symlink_to("/dev/zero")


def fifo() -> None:
    os.mkfifo(metrics())


def folder() -> None:
    metrics().mkdir()


def huge() -> None:
    with open(metrics(), "w", encoding="ascii") as file:
        file.truncate(3 << 30)


def remove() -> None:
    subprocess.run(["rm", "-r", str(metrics().parent)], check=True)


WORKLOADS = {work.__name__: work for work in (
    binary, lines, closed, killnsys, killgroup, stop, daemon, forks, symlink, endless, fifo,
    folder, huge, remove)}


# ---- the tests ----

class Workloads(support.Case):
    def setUp(self) -> None:
        super().setUp()
        (self.top / "log").mkdir()
        self.pids = self.top / "pids"
        self.out = self.top / "out"

    def env(self, **more: str) -> Dict[str, str]:
        env = super().env(STANDIN_LOG=str(self.top / "log"), PIDS=str(self.pids), **more)
        env["PATH"] = f"{ROOT}/tests/standin:{env['PATH']}"
        return env

    def words(self, work: str, *more: str) -> List[str]:
        program = self.top / "workload"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} --work {work}\n')
        program.chmod(0o755)
        return ["tests/standin/recipe.lua", f"standin.program={program}", f"out={self.out}",
                *QUIET, *more]

    def check_left(self) -> None:
        """No process of the workload lives, and no half-written file."""
        for pid in self.pids.read_text().split() if self.pids.is_file() else []:
            stat = Path(f"/proc/{pid}/stat")
            self.assertTrue(not stat.exists() or ") Z" in stat.read_text(), pid)
        self.assertEqual([], list(self.out.rglob(".llmprof-*")))
        manifest = json.loads((self.out / "manifest.json").read_text())
        self.assertIn(manifest["status"], ("done", "failed", "interrupted"))

    def ends(self, work: str, *statuses: int, settings: str = "") -> support.Result:
        result = self.llmprof(*self.words(work, *settings.split()))
        self.assertIn(result.status, statuses, (work, result.err))
        self.check_left()
        return result

    def test_what_they_print(self):
        for work in ("binary", "lines", "closed"):
            with self.subTest(work):
                self.ends(work, 0)
                subprocess.run(["rm", "-r", str(self.out)], check=True)

    def test_whom_they_kill(self):
        for work in ("killnsys", "killgroup"):
            with self.subTest(work):
                self.ends(work, 1)
                subprocess.run(["rm", "-r", str(self.out)], check=True)

    def test_what_they_write(self):
        for work in ("symlink", "endless", "fifo", "folder", "huge", "remove"):
            with self.subTest(work):
                self.ends(work, 0, 1)
                text = (self.out / "results.json").read_bytes()
                self.assertNotIn(b"root:", text)
                subprocess.run(["rm", "-r", str(self.out)], check=True)

    def test_one_that_stops_itself_is_ended(self):
        result = self.ends("stop", 1, settings="workload.timeout_s=1")
        self.assertIn("time limit", result.last_line())

    def test_daemons_are_ended(self):
        self.ends("daemon", 0)
        steps = json.loads((self.out / "manifest.json").read_text())["steps"]
        notes = [note for step in steps for note in step.get("notes", [])]
        self.assertIn(f"({self.pids.read_text().strip()})", "".join(notes))

    def forked(self) -> "subprocess.Popen[bytes]":
        """A run whose workload has all its processes."""
        child = self.begin(*self.words("forks"))
        while not self.pids.is_file() or len(self.pids.read_text().split()) < 4:
            self.assertIsNone(child.poll())
            time.sleep(0.01)
        return child

    def test_signals_end_all_of_them_and_the_run_goes_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                child = self.forked()
                child.send_signal(number)
                out, err = child.communicate(timeout=support.PATIENCE)
                self.check_said(out, err)
                self.assertEqual(130, child.returncode)
                self.check_left()
                self.does("tests/standin/recipe.lua", "--resume", self.out, *QUIET)
                subprocess.run(["rm", "-r", str(self.out), str(self.pids)], check=True)

    def test_what_a_killed_run_left_is_ended_by_the_next_command(self):
        child = self.forked()
        child.kill()
        child.communicate()
        pids = self.pids.read_text().split()
        self.assertTrue(all(Path(f"/proc/{pid}").exists() for pid in pids))
        result = self.does("--version")
        self.assertIn("a run that was killed left processes running, which were ended: ",
                      result.last_line())
        for pid in pids:
            self.assertIn(f"({pid})", result.last_line())
        self.assertEqual(b"", self.does("--version").err)
        self.does("tests/standin/recipe.lua", "--resume", self.out, *QUIET)
        self.check_left()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        WORKLOADS[sys.argv[2]]()
    else:
        support.main()
