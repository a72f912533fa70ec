#!/usr/bin/env python3
"""Sessions of `llmprof repl` at a pseudo-terminal: run.py PROGRAM [--update].

The first session's screen is compared with session.txt, which --update writes
anew. Every step waits for what the one before prints.
"""

import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from terminal import Screen, Terminal

HERE = Path(__file__).resolve().parent
TRANSCRIPT = HERE / "session.txt"
TRACE = "tests/fixtures/deepseek_ocr/run.sqlite"
ENDLESS_SQL = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
               "SELECT count(*) FROM n")
UP, CTRL_C, CTRL_D = "\x1b[A", "\x03", "\x04"
PROMPT = "\n> "

program = None
update = False


class Sessions(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="llmprof-repl.")
        self.addCleanup(folder.cleanup)
        self.home = folder.name

    def start(self, *files, **terminal):
        env = {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")}
        env.update(TERM="xterm", HOME=self.home, LC_ALL="C.UTF-8", PATH=os.environ["PATH"])
        session = Terminal([program, "repl", *files], env, **terminal)
        self.addCleanup(session.close)
        session.wait(PROMPT)
        return session

    def type(self, session, line, *shown):
        """A line, and what it prints before the next prompt."""
        session.send(line + "\r")
        session.wait("\r\n")
        for text in shown:
            session.wait(text)
        session.wait(PROMPT)

    def history(self):
        return Path(self.home, ".local/state/llmprof/history")

    def test_transcript(self):
        session = self.start(TRACE)
        self.type(session, "1 + 1", "2")
        self.type(session, "#kernels", "35694")
        self.complete(session)
        self.several_lines(session)
        self.type(session, "kernel:head()", "did you mean 'kernels'?")
        self.interrupts(session)
        self.pages(session)
        session.send(CTRL_D)
        self.assertEqual(0, session.finish())
        self.compare(Screen().feed(session.raw))

    def complete(self, session):
        session.send("ker\t")
        session.wait("nels")
        session.send(":gr\t")
        session.wait("oup")
        session.send('("categ\t')
        session.wait("ory")
        self.type(session, '"):sum("dur"):sort("-dur")', "gemm")
        session.send("kernels:s\t")
        session.wait("> kernels:s")
        self.type(session, 'um("dur")', "135221105")
        session.send('kernels:where { stage = "dec\t')
        session.wait("ode")
        self.type(session, '" }:distinct("name")', "42")

    def several_lines(self, session):
        session.send("for i = 1, 2 do\r")
        session.wait(">> ")
        session.send("  print(i)\r")
        session.wait(">> ")
        self.type(session, "end", "1\r\n2")
        session.send("a = {\r")
        session.wait(">> ")
        session.send(CTRL_C)
        session.wait(PROMPT)
        self.type(session, "a", "nothing is called 'a' here")

    def interrupts(self, session):
        for code in ("while true do end", "while true do pcall(string.rep, 'x', 10) end",
                     f"sql[[{ENDLESS_SQL}]]"):
            session.send(f"print 'running' {code}\r")
            session.wait("running\r\n")
            session.send(CTRL_C)
            session.wait("interrupted")
            session.wait(PROMPT)
        session.send("never run" + CTRL_C)
        session.wait(PROMPT)
        self.type(session, "'still here'", "still here")

    def pages(self, session):
        session.send('kernels:select("op", "dur"):head(40)\r')
        session.wait("any key, or q --")
        session.send(" ")
        session.wait(PROMPT)
        session.send('kernels:select("op", "dur"):head(90)\r')
        session.wait("any key, or q --")
        session.send("q")
        session.wait("\r\x1b[K> ")

    def compare(self, screen):
        screen = screen.rstrip("\n") + "\n"
        if update:
            TRANSCRIPT.write_text(screen, encoding="utf-8")
        self.assertEqual(TRANSCRIPT.read_text(encoding="utf-8"), screen)

    def test_history_lasts(self):
        first = self.start()
        self.type(first, "'kept'", "kept")
        first.send(CTRL_D)
        self.assertEqual(0, first.finish())
        self.assertEqual(0o600, stat.S_IMODE(self.history().stat().st_mode))
        second = self.start()
        second.send(UP)
        second.wait("'kept'")
        self.type(second, "", "kept")
        second.send(CTRL_D)
        self.assertEqual(0, second.finish())

    def test_history_of_two_sessions(self):
        first, second = self.start(), self.start()
        self.type(first, "'of the first'", "of the first")
        self.type(second, "'of the second'", "of the second")
        self.type(first, "'and again'", "and again")
        first.kill()  # what was typed is kept already
        second.send("quit\r")
        self.assertEqual(0, second.finish())
        self.assertEqual("'of the first'\n'of the second'\n'and again'\n",
                         self.history().read_text(encoding="utf-8"))
        third = self.start()
        third.send(UP + UP)
        third.wait("'of the second'")
        third.send("\r")
        third.wait(PROMPT)
        third.send("exit()\r")
        self.assertEqual(0, third.finish())

    def test_broken_history_is_said(self):
        self.history().mkdir(parents=True)
        session = self.start()
        self.assertIn(b"history: ", session.raw)
        self.assertIn(b"not a regular file", session.raw)
        self.type(session, "'typed'", "typed")
        session.send(CTRL_D)
        self.assertEqual(0, session.finish())

    def test_request_to_end(self):
        session = self.start()
        self.type(session, "'typed'", "typed")
        session.terminate()
        self.assertEqual(0, session.finish())
        self.assertIn("typed", self.history().read_text(encoding="utf-8"))

    def test_narrow_terminal(self):
        session = self.start(TRACE, columns=40)
        self.type(session, 'kernels:select("dur", "name"):head(1)', "duration")
        session.send(CTRL_D)
        self.assertEqual(0, session.finish())
        table = Screen().feed(session.raw).split("\n")[-4:-2]
        self.assertEqual(["duration µs  name", "     278.11  void implicit_con…int, int)"],
                         table[:2])


class Scripts(unittest.TestCase):
    """Standard input is no terminal; e2e.repl has more of it."""

    def run_script(self, text):
        done = subprocess.run([program, "repl"], input=text, capture_output=True,
                              encoding="utf-8", check=False)
        return done.returncode, done.stdout, done.stderr

    def test_is_one_piece_of_code(self):
        self.assertEqual((0, "1\n2\n", ""), self.run_script("print(1)\nreturn 2\n"))
        self.assertEqual((0, "", ""), self.run_script(""))

    def test_refuses_what_is_not_whole(self):
        self.assertEqual((2, "", "llmprof: line 2: unfinished: 'end' expected (to close 'do' "
                          "at line 1)\n  an operand, a bracket or an `end` is missing\n"),
                         self.run_script("do\nprint(1)"))


def has_terminals():
    """A chroot without /dev/pts, for one, has none."""
    try:
        for end in os.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def main():
    global program, update
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--update"]):
        sys.exit(__doc__)
    if not has_terminals():
        print("skipped: no pseudo-terminals here")
        sys.exit(77)
    program, update = os.path.abspath(sys.argv[1]), sys.argv[2:] == ["--update"]
    unittest.main(argv=[sys.argv[0]])


if __name__ == "__main__":
    main()
