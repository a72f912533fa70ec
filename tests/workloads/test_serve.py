"""serve.py with a stand-in for the engine: the load, the window, and what goes wrong."""

import contextlib
import dataclasses
import enum
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import types
import unittest
from unittest import mock

import support  # finds the programs
import serve
import workload_client as client
import workload_common as common
import workload_server
import workload_vllm

STAND_IN = support.ROOT / "tests" / "workloads" / "standin_server.py"
LOAD = ("--rounds", "2", "--warmup", "1", "--prompt-tokens", "7", "--new-tokens", "4")


def free_port():
    """One below those that connections of other tests are given by the system."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        given = int(file.read().split()[0])
    while True:
        port = random.randrange(given // 2, given)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


class Serving(support.Case):
    def command(self, *words, fault=""):
        port = str(free_port())
        return ["--url", f"http://127.0.0.1:{port}", *LOAD, *words, "--", sys.executable,
                str(STAND_IN), port, *([fault] if fault else [])]

    def server(self, fault):
        port = free_port()
        server = workload_server.Server(
            [sys.executable, str(STAND_IN), str(port), fault],
            workload_server.Endpoint(f"http://127.0.0.1:{port}"), None)
        self.addCleanup(server.end, 0)
        server.start()
        return server

    def run_serve(self, *words, fault=""):
        return support.run_program("serve.py", *self.command(*words, fault=fault),
                                   environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})

    def log(self):
        return (self.folder / "server.log").read_text(encoding="utf-8").splitlines()


class Weights(unittest.TestCase):
    def test_where_they_are_from(self):
        for words, weights in {("vllm", "serve", "m"): "checkpoint",
                               ("vllm", "serve", "m", "--load-format", "dummy"): "random",
                               ("vllm", "--load-format=dummy", "m"): "random",
                               ("vllm", "--load-format", "auto"): "checkpoint"}.items():
            self.assertEqual(serve.weights_of(words), weights, words)
            self.assertEqual(serve.weights_of(("proxy",), words), weights, words)


class Load(Serving):
    def metrics(self, *words):
        status, stdout, stderr = self.run_serve(*words)
        self.assertEqual((status, stderr), (0, ""))
        self.assertEqual(len(re.findall(r"^round \d: TTFT [\d.]+ ms, TPOT [\d.]+ ms$", stdout,
                                        re.M)), 2)
        return self.written()

    def test_one_request_at_a_time(self):
        metrics = self.metrics()
        self.assertEqual(metrics["model"], {"name": "stand-in", "weights": "checkpoint"})
        self.assertEqual([metrics[key] for key in ("batch", "prompt_tokens", "new_tokens")],
                         [1, 7, 4])
        self.assertEqual([r["index"] for r in metrics["repeats"]], [1, 2])
        run = metrics["repeats"][0]
        self.assertEqual((run["stages"]["prefill"]["tokens"], run["stages"]["decode"]["tokens"],
                          run["stages"]["decode"]["steps"]), (7, 3, 3))
        self.assertEqual(len(run["stages"]["decode"]["steps_ms"]), 3)
        self.assertEqual([request["tokens"] for request in run["requests"]], [4])
        self.assertAlmostEqual(run["requests"][0]["ttft_ms"], run["stages"]["prefill"]["ms"])
        self.assertEqual(run["requests"][0]["steps_ms"], run["stages"]["decode"]["steps_ms"])
        self.assertLess(abs(time.time_ns() - run["requests"][0]["sent_utc_ns"]), 3600e9)
        self.assertGreater(run["tokens_per_s"], 0)

    def test_rounds_of_several(self):
        metrics = self.metrics("--concurrency", "3")
        self.assertEqual(metrics["batch"], 3)
        stages = metrics["repeats"][1]["stages"]
        self.assertEqual((stages["prefill"]["tokens"], stages["decode"]["tokens"],
                          stages["decode"]["steps"]), (21, 9, 3))
        self.assertEqual(len(metrics["repeats"][1]["requests"]), 3)
        prompts = [line for line in self.log() if line.startswith("completion of 7 tokens")]
        self.assertEqual((len(prompts), len(set(prompts))), (9, 9))

    def test_the_window_holds_the_rounds_without_the_warm_up(self):
        self.metrics("--start-path", "/start_profile", "--start-body", '{"n": 1}',
                     "--stop-path", "/stop_profile")
        self.assertEqual([line.split()[0] for line in self.log()],
                         ["completion", "/start_profile", "completion", "completion",
                          "/stop_profile"])
        self.assertIn('/start_profile {"n": 1}', self.log())

    def for_counters(self, *words, windows=1):
        """Calls on the server of a run that opens its window again, by their first word."""
        status, _, stderr = support.run_program(
            "serve.py", *self.command("--start-path", "/start_profile", "--stop-path",
                                      "/stop_profile", *words),
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder),
                         "LLMPROF_COUNTERS": str(windows)})
        self.assertEqual((status, stderr), (0, ""))
        prompts = [line for line in self.log() if line.startswith("completion")]
        self.assertEqual(len(set(prompts)), len(prompts))
        return [line.split()[0] for line in self.log()]

    def lengths(self):
        """Of the prompts in each window."""
        windows = []
        for line in self.log():
            if line.startswith("/start_profile"):
                windows.append([])
            elif line.startswith("completion") and windows:
                windows[-1].append(int(line.split()[2]))
        return windows

    def test_a_second_window_for_counters(self):
        self.assertEqual(self.for_counters("--counter-rounds", "1"),
                         ["completion", "/start_profile", "completion", "completion",
                          "/stop_profile", "/start_profile", "completion", "/stop_profile"])
        metrics = self.written()
        self.assertEqual(len(metrics["repeats"]), 2)

    def test_windows_for_counters_without_graphs(self):
        again = ["/start_profile", "completion", "/stop_profile"]
        self.assertEqual(self.for_counters("--eager-path", "/collective_rpc", "--eager-body",
                                           '{"method": "llmprof_eager"}', windows=2),
                         ["completion", "/start_profile", "completion", "completion",
                          "/stop_profile", "/collective_rpc", *again, *again])
        self.assertIn('/collective_rpc {"method": "llmprof_eager"}', self.log())

    def test_a_server_that_keeps_its_graphs(self):
        status, _, stderr = support.run_program(
            "serve.py", *self.command("--start-path", "/start_profile", "--stop-path",
                                      "/stop_profile", "--eager-path", "/none"),
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder), "LLMPROF_COUNTERS": "1"})
        self.assertEqual(status, 0)
        self.assertIn("CUDA graphs were not left out: the server answers 404 to /none", stderr)
        self.assertEqual(len([line for line in self.log() if "/start_profile" in line]), 2)

    def test_a_worker_that_leaves_graphs_out(self):
        class Mode(enum.Enum):
            NONE, FULL = 0, 2

        @dataclasses.dataclass(frozen=True)
        class Batch:
            cg_mode: Mode
            num_tokens: int
            num_reqs: object = 16

        class Dispatcher:
            def __init__(self, answer):
                self.dispatch = lambda count: answer(Mode.FULL, count)

        older = Dispatcher(lambda mode, count: (mode, Batch(Mode.FULL, count)))
        newer, draft = Dispatcher(Batch), Dispatcher(Batch)
        runner = types.SimpleNamespace(cudagraph_dispatcher=older, cudagraph_manager=newer,
                                       speculator=types.SimpleNamespace(a_cudagraph_manager=draft))
        worker = workload_vllm.Eager()
        worker.model_runner = runner
        worker.llmprof_eager()
        self.assertEqual(older.dispatch(16), (Mode.NONE, Batch(Mode.FULL, 16, None)))
        for one in (newer, draft):
            self.assertEqual(one.dispatch(16), Batch(Mode.NONE, 16, None))
        worker.model_runner = types.SimpleNamespace(cudagraph_manager=None)
        self.assertRaises(RuntimeError, worker.llmprof_eager)

    def test_the_lengths_of_a_round_come_again_for_counters(self):
        self.for_counters("--counter-rounds", "2", "--prompt-tokens", "uniform:5-900")
        first, again = self.lengths()
        self.assertEqual(len(set(first)), 2)
        self.assertEqual(again, first)

    def test_a_rate_comes_again_for_counters(self):
        self.for_counters("--rate", "200", "--requests", "12", "--concurrency", "3",
                          "--prompt-tokens", "uniform:5-900", "--counter-rounds", "2")
        first, again = self.lengths()
        self.assertEqual((len(first), len(set(first)) > 6), (12, True))
        self.assertEqual(sorted(again), sorted(2 * first))
        metrics = self.written()
        self.assertEqual(metrics["load"]["completed"], 12)

    def test_no_more_of_a_slow_rate_than_counters_need(self):
        args = serve.parse([*LOAD, "--rate", "0.5", "--arrivals", "constant", "--requests", "90",
                            "--", "server"])
        sent = []
        sender = serve.Sender(args, serve.Together([]), serve.source_of(args), "m", None)
        with mock.patch.object(serve, "send_at", lambda url, load, requests, due, _:
                               sent.extend(zip(requests, due)) or []):
            self.assertIsNone(sender.count(7, 0))
        self.assertEqual([due for _, due in sent], [2.0 * i for i in range(10)])

    def test_a_generator_runs_again_for_counters(self):
        note = self.folder / "runs"
        code = ("import sys, urllib.request\nopen(sys.argv[1], 'a').write('x')\n"
                "urllib.request.urlopen(sys.argv[2] + '/health').read()")
        status, _, stderr = support.run_program(
            "serve.py", *self.command(
                "--warmup", "0", "--start-path", "/start_profile", "--stop-path",
                "/stop_profile", "--command",
                json.dumps([sys.executable, "-c", code, str(note), "{url}"])),
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder), "LLMPROF_COUNTERS": "1"})
        self.assertEqual(status, 0, stderr)
        self.assertEqual(note.read_text(encoding="utf-8"), "xx")
        self.assertEqual([line.split()[0] for line in self.log()],
                         ["/start_profile", "/stop_profile"] * 2)

    def test_rounds_for_counters_that_break_off(self):
        words = ("--start-path", "/start_profile", "--stop-path", "/stop_profile")
        status, _, stderr = support.run_program(
            "serve.py", *self.command(*words, fault="midway"),
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder), "LLMPROF_COUNTERS": "1"})
        self.assertEqual(status, 0)
        self.assertIn("the load for counters broke off", stderr)
        metrics = self.written()
        self.assertEqual(len(metrics["repeats"]), 2)

    def test_one_token_needs_no_decode(self):
        status, stdout, _ = self.run_serve("--new-tokens", "1")
        self.assertEqual(status, 0)
        self.assertIn("TPOT none", stdout)
        metrics = self.written()
        self.assertEqual(list(metrics["repeats"][0]["stages"]), ["prefill"])

    def test_a_server_of_two_programs(self):
        front = self.command()
        url, program = front[:2], front[front.index("--") + 1:]
        status, _, stderr = support.run_program(
            "serve.py", *url, *LOAD, "--also", json.dumps([*program, "empty"]), "--",
            sys.executable, "-c", "import time; print('worker', flush=True); time.sleep(600)",
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})
        self.assertEqual((status, stderr), (0, ""))
        self.assertEqual(self.log(), ["worker"])
        said = (self.folder / "server1.log").read_text(encoding="utf-8")
        self.assertEqual(said.count("completion of 7 tokens"), 3)
        port = url[1].rsplit(":", 1)[1]
        self.assertFalse(workload_server.Endpoint(f"http://127.0.0.1:{port}").is_taken())

    def awaiting(self, program):
        """A server, and a program beside it that is to be ready, too."""
        words, port = self.command(), str(free_port())
        split = words.index("--")
        beside = json.dumps([word.replace("PORT", port) for word in program])
        return port, support.run_program(
            "serve.py", *words[:split], *LOAD, "--also", beside, "--await",
            f"http://127.0.0.1:{port}", *words[split:],
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})

    def test_a_program_that_is_to_be_ready_too(self):
        _, (status, _, stderr) = self.awaiting([sys.executable, str(STAND_IN), "PORT", ""])
        self.assertEqual((status, stderr), (0, ""))
        said = (self.folder / "server1.log").read_text(encoding="utf-8")
        self.assertNotIn("completion", said)

    def test_one_that_is_never_ready(self):
        _, (status, _, stderr) = self.awaiting([sys.executable, "-c", "print('no GPU'); exit(4)"])
        self.assertEqual((status, stderr), (1, "server: no GPU\nserve.py: the server ended with "
                                            "exit status 4\n"))

    def pair(self, *faults):
        """Two servers and the proxy before them, as serve.py starts them."""
        ports = [str(free_port()) for _ in range(3)]
        words = ["--url", f"http://127.0.0.1:{ports[0]}", "--health", "/healthcheck", *LOAD]
        for port, fault in zip(ports[1:], (*faults, "", "")):
            words += ["--also", json.dumps([sys.executable, str(STAND_IN), port, fault]),
                      "--peer", f"http://127.0.0.1:{port}"]
        proxy = STAND_IN.with_name("standin_proxy.py")
        return support.run_program(
            "serve.py", *words, "--start-path", "/start_profile", "--stop-path", "/stop_profile",
            "--", sys.executable, str(proxy), *ports,
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})

    def said(self, number):
        text = (self.folder / f"server{number}.log").read_text(encoding="utf-8")
        return [line.split(",")[0].strip() for line in text.splitlines()]

    def test_two_servers_behind_a_proxy(self):
        status, _, stderr = self.pair()
        self.assertEqual((status, stderr), (0, ""))
        one = "completion of 7 tokens"
        for number in (1, 2):
            self.assertEqual(self.said(number), [one, "/start_profile", one, one,
                                                 "/stop_profile"])
        metrics = self.written()
        self.assertEqual([request["tokens"] for repeat in metrics["repeats"]
                          for request in repeat["requests"]], [4, 4])

    def test_one_of_two_servers_that_dies(self):
        status, _, stderr = self.pair("", "late")
        self.assertEqual(status, 1)
        self.assertIn("the server ended with exit status 9", stderr)
        status, _, stderr = self.pair("die")
        self.assertEqual(status, 1)
        self.assertIn("server: no such model", stderr)

    def test_nothing_is_written_unasked(self):
        status, stdout, _ = support.run_program("serve.py", *self.command())
        self.assertEqual((status, stdout.count("round ")), (0, 2))
        self.assertEqual(list(self.folder.iterdir()), [])


class Failures(Serving):
    def breaks(self, expected, *words, fault="", status=1):
        got, _, stderr = self.run_serve(*words, fault=fault)
        self.assertEqual((got, stderr.splitlines()), (status, expected))
        self.assertFalse((self.folder / "metrics.json").exists())

    def test_a_server_that_dies(self):
        self.breaks(["server: no such model", "serve.py: the server ended with exit status 4"],
                    fault="die")

    def test_a_server_that_dies_later(self):
        self.breaks(["server: CUDA error: out of memory",
                     "serve.py: the server ended with exit status 9"], fault="late")

    def test_a_server_that_is_never_ready(self):
        server = self.server("deaf")
        while not server.endpoint.is_taken():
            server.check_alive()
        with contextlib.redirect_stderr(io.StringIO()):
            self.fails(common.FAILED, "the server was not ready after 0.01 s (/health answers "
                       "503); server.ready_timeout_s gives it longer",
                       server.wait_until_ready, "/health", 0.01)

    def test_an_error_for_an_answer(self):
        self.breaks(["serve.py: the server answers 400 to /v1/completions: the prompt is too "
                     "long"], fault="refuse")

    def test_an_engine_without_a_window(self):
        self.breaks(["serve.py: the server answers 404 to /window: {}; "
                     "nsys.capture_range=none captures the whole process instead"],
                    "--start-path", "/window")

    def test_a_program_that_is_not_there(self):
        self.fails(common.MISSING, "the server '/no/such' cannot be started: No such file or "
                   "directory", serve.main, [*self.command()[:2], "--", "/no/such"])

    def test_a_port_that_is_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = s.getsockname()[1]
            self.fails(common.FAILED, f"port {port} is in use: end what listens there, or "
                       "choose another with server.port", serve.main,
                       ["--url", f"http://127.0.0.1:{port}", "--", "true"])

    def test_options(self):
        for message, words in (
                ("no server: serve.py [OPTION...] -- SERVER [ARGUMENT...]", ["--rounds", "1"]),
                ("no server: {}", ["--"]),
                ("argument --url: 'ftp://x': http://HOST:PORT is expected {}",
                 ["--url", "ftp://x", "--", "true"]),
                ("argument --rounds: '0': a whole number >= 1 is expected {}",
                 ["--rounds", "0", "--", "true"])):
            self.fails(common.USAGE, message, serve.parse, words)

    def test_there_is_no_operators_pass(self):
        with mock.patch.dict(os.environ, {"LLMPROF_OPERATORS": "1"}):
            self.fails(common.MISSING, "a server has no operators pass; operators=off leaves it "
                       "out", serve.parse, ["--", "true"])


class Ending(Serving):
    def group_is_gone(self, group):
        self.assertEqual(workload_server.running(group), [])

    def test_a_stubborn_server_is_killed_with_its_children(self):
        server = self.server("stubborn")
        server.wait_until_ready("/health", 60)
        server.end(0)
        self.assertEqual(server.child.returncode, -signal.SIGKILL)
        self.group_is_gone(server.child.pid)

    def test_sigterm_ends_the_server_too(self):
        program = subprocess.Popen(
            [sys.executable, str(support.PROGRAMS / "serve.py"), *self.command(fault="deaf")],
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "LLMPROF_WORKLOAD_DIR": str(self.folder)})
        children = f"/proc/{program.pid}/task/{program.pid}/children"
        group = None
        while group is None and program.poll() is None:
            with open(children, encoding="ascii") as f:
                group = next(iter(f.read().split()), None)
        program.terminate()
        _, stderr = program.communicate(timeout=60)
        self.assertEqual((program.returncode, stderr), (common.INTERRUPTED,
                                                        "serve.py: interrupted\n"))
        self.group_is_gone(int(group))


class Answers(unittest.TestCase):
    def test_times(self):
        answer = client.Answer(10.0, 0, [10.5, 10.6, 10.8], 3)
        self.assertAlmostEqual(answer.ttft, 0.5)
        self.assertAlmostEqual(answer.tpot, 0.15)
        self.assertEqual([round(step, 3) for step in answer.steps], [0.1, 0.2])

    def test_several_tokens_in_a_chunk_are_no_steps(self):
        answer = client.Answer(10.0, 0, [10.5, 10.8], 4)
        self.assertAlmostEqual(answer.tpot, 0.1)
        self.assertIsNone(answer.steps)

    def test_one_token_has_no_tpot(self):
        self.assertIsNone(client.Answer(0.0, 0, [1.0], 1).tpot)

    def test_complaints(self):
        for body, said in ((b'{"error": {"message": "a\\nb"}}', "a b"), (b'{"error": "c"}', "c"),
                           (b'{"message": "d"}', "d"), (b"plain text", "plain text"),
                           (b"[1]", "[1]"), (b"", "no reason given"), (b"{}", "{}")):
            self.assertEqual(client.complaint_of(body), said)
