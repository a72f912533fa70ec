"""Windows of an engine with the collector inside, which stand-ins of its processes open."""

import json
import os
import signal
import socket
import subprocess
import sys

import support  # finds the programs
import serve
import workload_collector
import workload_server
from test_serve import STAND_IN, free_port

PROCESS = support.ROOT / "tests" / "workloads" / "standin_collected.py"
LOAD = ("--rounds", "1", "--warmup", "1", "--prompt-tokens", "7", "--new-tokens", "4")
PROFILER = ("--start-path", "/start_profile", "--stop-path", "/stop_profile")


class Collected(support.Case):
    def setUp(self):
        super().setUp()
        self.spools = self.folder / "spools"
        self.spools.mkdir()

    def start(self, *argv):
        child = subprocess.Popen([sys.executable, *map(str, argv)], stdout=subprocess.PIPE,
                                 text=True)

        def end():
            child.kill()
            child.communicate()

        self.addCleanup(end)
        return child

    def process(self, fault=""):
        child = self.start(PROCESS, self.spools, *([fault] if fault else []))
        child.stdout.readline()
        return child

    def send(self, *words):
        port = str(free_port())
        self.start(STAND_IN, port)
        server = workload_server.Endpoint(f"http://127.0.0.1:{port}")
        self.assertIsNone(workload_server.wait_for(server, "/health", 60, lambda: None))
        return support.run_program(
            "serve.py", "--url", f"http://127.0.0.1:{port}", "--attach", "--spools",
            str(self.spools), *LOAD, *words,
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})

    def told(self):
        path = self.spools / "told"
        return path.read_text(encoding="utf-8").split() if path.exists() else []

    def rounds(self):
        metrics = json.loads((self.folder / "metrics.json").read_text(encoding="utf-8"))
        return len(metrics["repeats"])


class Windows(Collected):
    def test_all_processes_begin_and_end(self):
        self.process()
        self.process()
        status, stdout, stderr = self.send()
        self.assertEqual((status, stderr), (0, ""))
        self.assertIn("2 processes of the server began to record\nthe window is open\n", stdout)
        self.assertEqual(sorted(self.told()), ["begin", "begin", "end", "end"])
        self.assertFalse((self.spools / "socket").exists())

    def test_the_engine_marks_its_steps_in_it(self):
        self.process()
        status, _, stderr = self.send("--start-path", "/nowhere", "--stop-path", "/stop_profile")
        self.assertEqual(status, 0)
        self.assertIn("the server answers 404 to /nowhere", stderr)
        self.assertIn("its steps may not be marked", stderr)

    def test_the_window_is_the_engines_where_nobody_calls(self):
        self.process("elsewhere")
        status, stdout, stderr = self.send(*PROFILER)
        self.assertEqual((status, stderr), (0, ""))
        self.assertNotIn("the window is open", stdout)
        self.assertEqual(self.told(), [])

    def test_a_server_without_either(self):
        status, _, stderr = self.send()
        self.assertEqual(status, 1)
        self.assertIn(f"no process calls on {self.spools}/socket", stderr)
        self.assertFalse((self.folder / "metrics.json").exists())

    def test_a_socket_of_before_is_taken_over(self):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(self.spools / "socket"))
        self.process()
        self.assertEqual(self.send()[0], 0)
        self.assertEqual(self.told(), ["begin", "end"])


class Failures(Collected):
    def test_somebody_listens_already(self):
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(self.spools / "socket"))
            other.listen(1)
            self.fails(1, "server.spools: somebody listens on {} already",
                       workload_collector.Windowed(str(self.spools)).listen)

    def test_a_folder_with_a_long_name(self):
        self.fails(1, "server.spools: no socket in {}",
                   workload_collector.Windowed(str(self.spools / ("x" * 200))).listen)

    def test_a_process_that_does_nothing(self):
        self.process("mute")
        made = workload_collector.Windowed(str(self.spools), answering=0.3)
        self.addCleanup(made.close)
        self.assertEqual(made.call_in(), 1)
        self.fails(1, "server.spools: a process did not begin its window within 0.3 s; is "
                   "unit.by = socket in its plan?", made.begin)

    def test_a_process_that_ends_in_the_window_keeps_the_load(self):
        self.process("short")
        status, _, stderr = self.send()
        self.assertEqual(status, 1)
        self.assertIn("1 of 1 processes of the server were gone when the window closed", stderr)
        self.assertEqual(self.rounds(), 1)

    def test_a_line_without_end(self):
        here, there = socket.socketpair()
        with here, there:
            caller = workload_collector.Caller(here)
            caller.rest = b"x" * workload_collector.LONGEST
            there.sendall(b"x" * 4096)
            caller.hear()
        self.assertTrue(caller.gone)

    def test_the_dead_are_not_waited_for(self):
        child = self.process()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        self.assertEqual(workload_collector.living(self.spools), [])
        self.assertFalse(serve.InsideCapture(str(self.spools), True).run(serve.OPEN))
