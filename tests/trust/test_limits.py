"""Small files that ask for much: each ends with a line that names the limit."""

import contextlib
import gzip
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Iterator, Tuple

import support
from support import CAPTURE

M = (1 << 64) - 1


def unmixed(value: int) -> int:
    """A record of 8 bytes whose hash was this, when hashes had no key."""
    multiplier = 0xd6e8feb86659fd93
    inverse = pow(multiplier, -1, 1 << 64)

    def shift(h: int) -> int:
        return h ^ (h >> 32)

    value = shift(value)
    value = shift(value * inverse & M)
    value = shift(value * inverse & M)
    return shift(value) * inverse & M ^ (8 * 0x9e3779b97f4a7c15 & M)


def catches(pid: int, number: int) -> bool:
    """Has the process a handler of this signal yet?"""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1 == 1


class Limits(support.Case):
    def database(self, sql: str) -> sqlite3.Connection:
        self.path = self.top / "trace.sqlite"
        database = sqlite3.connect(self.path)
        self.addCleanup(database.close)
        database.executescript("PRAGMA synchronous = OFF;" + sql)
        return database

    def test_columns_that_are_computed_are_not_read(self):
        database = self.database(
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, z);"
            "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, globalTid INT, "
            "textId INT);")
        database.executemany("INSERT INTO StringIds (id) VALUES (?)", ((i,) for i in range(1000)))
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "UPDATE sqlite_master SET sql = ? WHERE name = 'StringIds'",
            ("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT GENERATED ALWAYS AS "
             "(substr(printf('%.*c', 300000000 + id, 'x'), 1, 3)) VIRTUAL, z)",))
        database.commit()
        database.close()
        self.refuses("StringIds has a computed column", "stats", self.path)
        self.refuses("StringIds has a computed column", "scrub", self.path)

    def test_ids_that_collided_do_no_harm(self):
        database = self.database("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);")
        ids = set()
        for i in range(100000):
            word = unmixed((i << 26) & M)
            ids.add(word - (1 << 64) if word >> 63 else word)
        database.executemany("INSERT OR IGNORE INTO StringIds VALUES (?, 'k')",
                             ((word,) for word in ids))
        database.commit()
        self.does("stats", self.path)

    def overlapping(self, ranges: int, calls: int) -> Path:
        """Ranges of a thread that overlap and do not nest, and calls across their ends."""
        database = self.database(
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
            "INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel_v7000'), (3, 'r');"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, "
            "contextId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT, "
            "shortName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, "
            "correlationId INT, nameId INT);"
            "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, "
            "globalTid INT, textId INT);")
        process = 1 << 48 | 1 << 24
        thread = process | 1
        database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 60, NULL, ?, 3)",
                             ((i, 10 * ranges + 2 * i, thread) for i in range(ranges)))
        database.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 2)",
            ((5 * ranges, 10 * ranges + 2 * j * ranges // calls + 1, thread, j + 1)
             for j in range(calls)))
        database.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
            "(?, ?, 0, 1, 7, ?, ?, 1, 1, 1, 1, 1, 1, 1, 1)",
            ((20 * ranges + j, 20 * ranges + j + 1, j + 1, process) for j in range(calls)))
        database.commit()
        return self.path

    def test_chains_of_overlapping_ranges(self):
        path = self.overlapping(8000, 2000)
        self.refuses("(limits.ratio)", "compare", path, path)
        self.refuses("(limits.ratio)", "export", path)
        free = self.env(LLMPROF_LIMITS="ratio=0")
        self.does("export", path, env=free)

    def test_packed_files_that_swell(self):
        path = self.top / "bomb.pt.trace.json.gz"
        with gzip.open(path, "wb", 9) as file:
            file.write(b'{"traceEvents":[')
            for _ in range(100):
                file.write(b" " * (1 << 20))
            file.write(b"]}")
        self.refuses("(limits.ratio)", "operators", path)
        self.does("operators", path, env=self.env(LLMPROF_LIMITS="ratio=0"))

    def test_every_limit_has_its_key_and_its_line(self):
        trace = CAPTURE / "run.sqlite"
        for limit, key in (("rows=100", "limits.rows"), ("bytes=2500000", "limits.bytes")):
            result = self.llmprof("stats", trace, env=self.env(LLMPROF_LIMITS=limit))
            self.assertEqual(1, result.status)
            self.assertIn(key, result.err.decode())
            name, value = limit.split("=")
            capture = self.analyse(CAPTURE, f"limits.{name}={value}")
            self.assertEqual(1, capture.status)
            self.assertIn(key, capture.err.decode())
            subprocess.run(["rm", "-rf", str(self.top / "out")], check=True)
        endless = ("sql[[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                   "SELECT count(*) FROM n]]")
        self.refuses("(limits.seconds)", "-e", endless, trace,
                     env=self.env(LLMPROF_LIMITS="seconds=1"))
        self.refuses("is no limit", "stats", trace, env=self.env(LLMPROF_LIMITS="lines=3"))

    def test_the_first_signal_ends_it(self):
        path = self.overlapping(100000, 100)  # parents: seconds of work
        for number in (signal.SIGINT, signal.SIGTERM):
            output = self.top / "trace.json"
            child = self.begin("export", path, "-o", output)
            while not catches(child.pid, number):
                time.sleep(0.01)
            time.sleep(0.5)  # into the work; before it the outcome is the same
            os.kill(child.pid, number)
            out, err = child.communicate(timeout=support.PATIENCE)
            self.check_said(out, err)
            self.assertIn(child.returncode, (0, 130))
            self.assertEqual(child.returncode == 0, output.exists())
            output.unlink(missing_ok=True)

    def test_what_is_ended_writes_nothing_for_the_next_command(self):
        """It would be all that was read of a trace: a second's work, on a quiet disk."""
        script, kept = self.top / "read.lua", self.top / "kept"
        for variable in ("opened", "opened <close>"):
            for last in ("", "while true do end"):
                shutil.rmtree(kept, ignore_errors=True)
                script.write_text(f"""
                    local cache = {{ folder = "{kept}", least = 0, most = 1 << 30 }}
                    local {variable} = require("llmprof.trace").open("{CAPTURE}/run.sqlite", cache)
                    assert(opened:frame "kernels")
                    io.stdout:write("read\\n"):flush()
                    {last}""")
                child = self.begin("exec", script)
                assert child.stdout
                self.assertEqual(b"read\n", child.stdout.readline())
                if last:
                    child.send_signal(signal.SIGTERM)
                child.communicate(timeout=support.PATIENCE)
                self.assertEqual(130 if last else 0, child.returncode)
                files = [path for path in kept.rglob("*") if path.stat().st_size > 0]
                self.assertEqual(not last, any(path.is_file() for path in files), files)

    def test_what_is_ended_is_finalized(self):
        """Though its memory is not freed, which takes long where there is much of it."""
        script = self.top / "end.lua"
        script.write_text("""
            local held = setmetatable({}, { __gc = function() io.write("finalized") end })
            io.write("begun\\n"):flush()
            while held do end""")
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.begin("exec", script)
            assert child.stdout
            self.assertEqual(b"begun\n", child.stdout.readline())
            child.send_signal(number)
            out, err = child.communicate(timeout=support.PATIENCE)
            self.assertEqual((130, b"finalized", b"llmprof: interrupted\n"),
                             (child.returncode, out, err))

    @contextlib.contextmanager
    def asking(self) -> Iterator[Tuple[subprocess.Popen, int]]:
        """A server with a question that never ends, and the process that works on it."""
        question = ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query",'
                    '"arguments":{"run":"tests/fixtures/small/run.sqlite",'
                    '"code":"while true do end"}}}\n')
        with self.begin("mcp", stdin=subprocess.PIPE) as server:
            assert server.stdin
            server.stdin.write(question.encode())
            server.stdin.flush()
            asked = Path(f"/proc/{server.pid}/task/{server.pid}/children")
            while not asked.read_text().strip():
                time.sleep(0.01)
            yield server, int(asked.read_text())

    def test_a_server_ends_with_the_question_that_it_asks(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.asking() as (server, _):
                os.kill(server.pid, number)
                # its input stays open: it is the signal that ends it
                self.assertEqual(130, server.wait(timeout=support.PATIENCE))
                assert server.stderr
                self.assertEqual(b"llmprof: interrupted\n", server.stderr.read())

    def test_a_question_ends_with_its_server(self):
        with self.asking() as (server, question):
            ended = os.pidfd_open(question)
            os.kill(server.pid, signal.SIGKILL)
            self.assertEqual([ended], select.select([ended], [], [], support.PATIENCE)[0])
            os.close(ended)

    def test_what_asks_nobody_is_ended(self):
        """A pattern that would search for years, in one call of Lua's own."""
        script = self.top / "search.lua"
        script.write_text('io.stdout:write("begun\\n"):flush()\n'
                          'print((("a"):rep(60)):find(("a*"):rep(50) .. "b"))\n')
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = self.begin("exec", script)
            assert child.stdout
            self.assertEqual(b"begun\n", child.stdout.readline())
            time.sleep(0.2)  # into the search; before it the outcome is the same
            os.kill(child.pid, number)
            _, err = child.communicate(timeout=support.PATIENCE)
            self.assertEqual((130, b"llmprof: interrupted\n"), (child.returncode, err))


if __name__ == "__main__":
    support.main()
