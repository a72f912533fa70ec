"""Loads at a rate and from other generators: what is sent when, and what goes wrong."""

import json
import os
import random
import sys
import unittest
from pathlib import Path

import support  # finds the programs
import test_serve
import workload_common as common
import workload_foreign as foreign
import workload_load as load
import workload_scrape as scrape
import workload_serving as serving

RATE = ("--warmup", "0", "--rate", "200", "--requests", "12")


class Lengths(unittest.TestCase):
    def test_forms(self):
        dice = random.Random(1)
        for text, low, high in (("7", 7, 7), ("uniform:3-5", 3, 5), ("normal:100,10", 1, 800),
                                ("lognormal:50,0.5", 1, 400), ("exponential:20", 1, 160)):
            drawn = [load.Lengths(text).draw(dice) for _ in range(500)]
            self.assertTrue(low <= min(drawn) and max(drawn) <= high, (text, min(drawn)))
            self.assertEqual(len(set(drawn)) == 1, low == high, text)

    def test_what_is_none(self):
        for text in ("", "0", "x", "uniform:5-3", "uniform:5", "normal:5", "-1", "exponential:0"):
            with self.assertRaises(ValueError, msg=text):
                load.Lengths(text)


class Arrivals(unittest.TestCase):
    def test_poisson_keeps_its_rate_and_is_no_clock(self):
        times = load.poisson(50, 4000)
        pauses = [b - a for a, b in zip(times, times[1:])]
        self.assertAlmostEqual(len(pauses) / times[-1], 50, delta=3)
        mean = sum(pauses) / len(pauses)
        deviation = (sum((pause - mean) ** 2 for pause in pauses) / len(pauses)) ** 0.5
        self.assertAlmostEqual(deviation / mean, 1, delta=0.1)
        self.assertEqual(times, load.poisson(50, 4000))

    def test_constant(self):
        self.assertEqual(load.constant(4, 3), [0, 0.25, 0.5])


class Prompts(unittest.TestCase):
    def prompts(self, **given):
        return load.Prompts(load.Lengths("20"), load.Lengths("3"), 1000, **given)

    def test_every_one_is_another(self):
        made = [tuple(self.prompts().request(i).prompt) for i in range(9)]
        self.assertEqual((len(set(made)), {len(prompt) for prompt in made}), (9, {20}))

    def test_prefixes_are_shared(self):
        source = self.prompts(prefix_tokens=12, prefixes=2)
        made = [source.request(i).prompt for i in range(4)]
        self.assertEqual([len(prompt) for prompt in made], [20] * 4)
        self.assertEqual(made[0][:12], made[2][:12])
        self.assertNotEqual(made[0][:12], made[1][:12])
        self.assertNotEqual(made[0][12:], made[2][12:])

    def test_again_they_are_others_of_the_same_lengths(self):
        source = load.Prompts(load.Lengths("uniform:30-900"), load.Lengths("uniform:2-90"), 1000,
                              12, 2)
        for i in range(5):
            first = source.request(i)
            made = [first, source.again(i, 5), source.again(i, 10)]
            self.assertEqual({len(one.prompt) for one in made}, {len(first.prompt)})
            self.assertEqual({one.new_tokens for one in made}, {first.new_tokens})
            self.assertEqual({tuple(one.prompt[:12]) for one in made}, {tuple(first.prompt[:12])})
            self.assertEqual(len({tuple(one.prompt[12:]) for one in made}), 3)


class Files(support.Case):
    def requests(self, text, count=3):
        path = self.write("requests.jsonl", text)
        source = load.RequestFile(path, load.Prompts(load.Lengths("9"), load.Lengths("5"), 1000))
        return [source.request(i) for i in range(count)]

    def test_a_request_a_line_and_the_first_after_the_last(self):
        first, second, again = self.requests(
            '{"prompt": "Hello", "max_tokens": 7}\n\n{"prompt_tokens": 30}\n')
        self.assertEqual((first.prompt, first.new_tokens, first.prompt_tokens), ("Hello", 7, None))
        self.assertEqual((second.prompt_tokens, second.new_tokens), (30, 5))
        self.assertEqual(again, first)

    def test_again_texts_are_later_ones_and_drawn_ones_as_long(self):
        path = self.write("requests.jsonl", "\n".join(json.dumps(one) for one in (
            {"prompt": "a"}, {"prompt_tokens": 30, "max_tokens": 4}, {"prompt": "b"})))
        source = load.RequestFile(path, load.Prompts(load.Lengths("9"), load.Lengths("5"), 1000))
        self.assertEqual(source.again(0, 2).prompt, "b")
        drawn, again = source.request(1), source.again(1, 3)
        self.assertEqual((again.prompt_tokens, again.new_tokens), (30, 4))
        self.assertNotEqual(again.prompt, drawn.prompt)

    def test_conversations(self):
        made = self.requests(json.dumps([{"conversations": [
            {"from": "system", "value": "be kind"}, {"from": "human", "value": "Why?"},
            {"from": "gpt", "value": "Because."}]}]), 1)
        self.assertEqual(made[0].prompt, "Why?")

    def test_what_is_no_request(self):
        for text, said in (("", "no request in it"), ("{", "line 1 is no JSON"),
                           ('{"prompt": "a"}\nnull', "line 2 is no request"),
                           ("[{}]", "entry 1 has no prompt"),
                           ('{"prompt": ["a"]}', "line 1: its prompt is no list of token ids"),
                           ('{"prompt": "a", "max_tokens": -3}',
                            "line 1: a number of tokens that cannot be")):
            self.fails(common.USAGE, f"load.file: {{}}: {said}", self.requests, text)


class AtARate(test_serve.Serving):
    def test_all_answered(self):
        status, stdout, stderr = self.run_serve(*RATE, "--slo-ttft", "60000", "--slo-tpot", "60000")
        self.assertEqual((status, stderr), (0, ""))
        self.assertIn("load: 12 of 12 requests in", stdout)
        metrics = self.written()
        said = metrics["load"]
        self.assertEqual([said[key] for key in ("kind", "arrivals", "rate_per_s", "requests",
                                                "completed", "failed", "errors")],
                         ["rate", "poisson", 200.0, 12, 12, 0, []])
        self.assertEqual(said["slo"], {"ttft_ms": 60000, "tpot_ms": 60000, "met": 12})
        repeat = metrics["repeats"][0]
        self.assertEqual((len(repeat["requests"]), repeat["stages"]), (12, {}))
        self.assertEqual({request["prompt_tokens"] for request in repeat["requests"]}, {7})
        self.assertNotIn("batch", metrics)

    def test_some_fail(self):
        status, _, stderr = self.run_serve(*RATE, fault="some")
        self.assertEqual((status, stderr), (0, "serve.py: 4 of 12 requests failed: the server "
                                            "answers 503 to /v1/completions: too busy\n"))
        said = self.written()["load"]
        self.assertEqual((said["completed"], said["failed"], len(said["errors"])), (8, 4, 1))

    def test_streams_with_an_error_in_them(self):
        status, _, stderr = self.run_serve(*RATE, fault="error")
        self.assertEqual(status, 1)
        self.assertIn("all 12 requests failed: ", stderr)
        self.assertIn("out of blocks", stderr)
        said = self.written()["load"]
        self.assertEqual((said["requests"], said["completed"], said["failed"]), (12, 0, 12))

    def test_streams_that_break_off_are_failures_and_all_of_them_an_error(self):
        status, _, stderr = self.run_serve(*RATE, fault="break")
        self.assertEqual((status, stderr), (1, "serve.py: all 12 requests failed: the server broke "
                                            "off: ConnectionError: the stream ended without "
                                            "[DONE]\n"))

    def test_a_server_that_dies_in_the_window_leaves_what_was_answered(self):
        status, _, stderr = self.run_serve("--warmup", "0", "--rate", "20", "--arrivals",
                                           "constant", "--requests", "40", "--start-path",
                                           "/start_profile", "--stop-path", "/stop_profile",
                                           fault="midway")
        self.assertEqual(status, 1)
        lines = stderr.splitlines()
        self.assertEqual(lines[-1], "serve.py: the server ended with exit status 9")
        self.assertIn("server: CUDA error: out of memory", lines)
        self.assertRegex("\n".join(lines), r"\nserve.py: \d+ of 40 requests were not sent: the ")
        said = self.written()["load"]
        self.assertEqual(said["completed"], 3)

    def test_a_window_that_cannot_be_closed_leaves_what_was_answered(self):
        status, _, stderr = self.run_serve(*RATE, "--start-path", "/start_profile", "--stop-path",
                                           "/stop_profile", fault="ill")
        self.assertEqual(status, 1)
        self.assertIn("serve.py: the server answers 500 to /stop_profile: EngineCore encountered "
                      "an issue", stderr)
        self.assertEqual(self.written()["load"]["completed"], 12)

    def test_a_rate_that_is_not_held_is_said(self):
        for pace, said in ((2, ["load.rate=10 could not be held: 5 requests/s were sent of 10 "
                                "planned"]), (1, [])):
            outcomes = [serving.Outcome(due=i / 10, sent=pace * i / 10) for i in range(11)]
            record = serving.rate_record(outcomes, {"rate_per_s": 10, "requests": 11})
            self.assertEqual(serving.complaints_of(record), said)

    def test_limits_hold_for_both(self):
        requests = [{"ttft_ms": 10, "tpot_ms": 5}, {"ttft_ms": 30, "tpot_ms": 5},
                    {"ttft_ms": 10, "tpot_ms": 9}, {"ttft_ms": 10, "tpot_ms": None}]
        self.assertEqual([serving.met(requests, *limits)
                          for limits in ((20, 6), (20, 0), (0, 6), (5, 5))], [2, 3, 3, 0])
        self.assertIsNone(serving.slo_record(requests, 0, 0))

    def test_a_server_that_is_there_already(self):
        server = self.server("")
        server.wait_until_ready("/health", 60)
        url = f"http://127.0.0.1:{server.endpoint.port}"
        status, _, stderr = support.run_program(
            "serve.py", "--attach", "--url", url, *RATE,
            environment={"LLMPROF_WORKLOAD_DIR": str(self.folder)})
        self.assertEqual((status, stderr), (0, ""))
        self.assertTrue(server.is_alive())
        self.assertEqual(self.written()["load"]["completed"], 12)
        server.end(0)
        status, _, stderr = support.run_program("serve.py", "--attach", "--url", url, *RATE)
        self.assertEqual((status, stderr), (1, "serve.py: server.url: nothing listens on "
                                            f"127.0.0.1:{server.endpoint.port}\n"))


def python(code):
    """A command as the environment names it."""
    return json.dumps([sys.executable, "-c", code])


class Captures(test_serve.Serving):
    """A server that somebody else captures: commands around the window."""

    def attach(self, fault, opened, closed, *words):
        server = self.server(fault)
        server.wait_until_ready("/health", 60)
        return support.run_program(
            "serve.py", "--attach", "--url", f"http://127.0.0.1:{server.endpoint.port}", *RATE,
            "--start-path", "/start_it", *words, environment={
                "LLMPROF_WORKLOAD_DIR": str(self.folder),
                "LLMPROF_WINDOW_OPEN": opened, "LLMPROF_WINDOW_CLOSE": closed})

    def test_they_run_around_the_load_and_are_shown(self):
        status, stdout, stderr = self.attach("", python("print('begins')"), python("print('ends')"))
        self.assertEqual(status, 0)
        self.assertEqual(stderr, "serve.py: the server answers 404 to /start_it: {}; its steps "
                                 "may not be marked\n")
        lines = stdout.splitlines()
        self.assertEqual([lines.index(line) for line in ("begins", "the window is open", "ends")],
                         [0, 1, 2])
        self.assertTrue((self.folder / "metrics.json").exists())

    def test_one_that_does_not_open_sends_no_load(self):
        status, _, stderr = self.attach("", python("print('no session'); exit(3)"), python("1"))
        self.assertEqual((status, stderr),
                         (1, f"serve.py: {os.path.basename(sys.executable)} -c ended with exit "
                             "status 3: no session\n"))
        self.assertFalse((self.folder / "metrics.json").exists())
        status, _, stderr = self.attach("", '["/nowhere/nsys"]', python("1"))
        self.assertEqual((status, stderr), (1, "serve.py: '/nowhere/nsys' cannot be started: No "
                                            "such file or directory\n"))

    def test_one_that_does_not_close_keeps_the_numbers(self):
        status, _, stderr = self.attach("", python("1"), python("exit(1)"))
        self.assertEqual(status, 1)
        self.assertIn("-c ended with exit status 1\n", stderr)
        self.assertTrue((self.folder / "metrics.json").exists())

    def test_one_that_hangs_is_ended(self):
        # a shell and no Python, which may take longer than that only to begin
        hang, limit = '["sh", "-c", "echo at work; exec sleep 600"]', ("--window-timeout", "2")
        said = "sh -c did not end within 2 s and was ended: at work"
        status, _, stderr = self.attach("", hang, '["true"]', *limit)
        self.assertEqual((status, stderr), (1, f"serve.py: {said}\n"))
        self.assertFalse((self.folder / "metrics.json").exists())
        status, _, stderr = self.attach("", '["true"]', hang, *limit)
        self.assertEqual(status, 1)
        self.assertIn(f"serve.py: {said}\n", stderr)
        self.assertTrue((self.folder / "metrics.json").exists())

    def test_what_one_leaves_running_is_not_waited_for(self):
        leaves = python("import subprocess, sys; print('begins', flush=True); "
                        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'])")
        status, stdout, _ = self.attach("", leaves, python("1"), "--window-timeout", "10")
        self.assertEqual((status, stdout.splitlines()[0]), (0, "begins"))

    def test_it_is_closed_when_the_server_dies(self):
        status, stdout, stderr = self.attach("midway", python("1"), python("print('closed')"))
        self.assertEqual(status, 1)
        self.assertIn("closed\n", stdout)
        self.assertIn("the server does not answer any more", stderr)


LOADS = Path(__file__).resolve().parent.parent / "fixtures" / "loads"
VLLM = {"ttfts": [0.5, 0.1, 0.2], "itls": [[0.1, 0.2], [], [0.3]], "output_lens": [3, 0, 2],
        "input_lens": [7, 7, 8], "errors": ["", "timed out", ""]}
GUIDELLM = {"benchmarks": [{"requests": {"errored": [{}], "successful": [
    {"time_to_first_token_ms": 12.5, "inter_token_latency_ms": 2, "request_latency": 0.1,
     "output_tokens": 9, "prompt_tokens": 30}]}}]}
AIPERF = [{"metadata": {"request_start_ns": 5}, "error": None, "metrics": {
    "time_to_first_token": {"value": 12, "unit": "ms"},
    "inter_token_latency": {"value": 2000, "unit": "us"},
    "request_latency": {"value": 0.1, "unit": "sec"},
    "output_sequence_length": {"value": 9, "unit": "tokens"}}},
    {"metadata": {}, "error": {"message": "refused"}, "metrics": {}}]


class Generators(test_serve.Serving):
    def read(self, text):
        return foreign.read_result(self.write("result.json", text))

    def test_forms(self):
        good, failed, wrong, _ = self.read(json.dumps(VLLM))
        self.assertEqual((len(good), failed, wrong), (2, 1, None))
        self.assertEqual((good[0]["ttft_ms"], good[0]["tokens"], good[0]["prompt_tokens"]),
                         (500, 3, 7))
        self.assertAlmostEqual(good[0]["tpot_ms"], 150)
        self.assertAlmostEqual(good[0]["ms"], 800)
        good, failed, wrong, _ = self.read(json.dumps(GUIDELLM))
        self.assertEqual((good, failed, wrong), ([{
            "ttft_ms": 12.5, "tpot_ms": 2, "ms": 100, "tokens": 9, "prompt_tokens": 30}], 1, None))
        good, failed, wrong, _ = self.read("\n".join(map(json.dumps, AIPERF)))
        self.assertEqual((good, failed, wrong), ([{
            "ttft_ms": 12, "tpot_ms": 2, "ms": 100, "tokens": 9, "sent_utc_ns": 5}], 1, None))

    def test_how_long_it_measured_is_without_its_start(self):
        seconds = [self.read(json.dumps(said))[3] for said in (
            {**VLLM, "duration": 0.9}, VLLM, {**VLLM, "duration": "long"},
            {**VLLM, "duration": -1})]
        self.assertEqual(seconds, [0.9, None, None, None])
        later = {**AIPERF[0], "metadata": {"request_start_ns": 2_000_000_005}}
        self.assertEqual(self.read("\n".join(map(json.dumps, [later, *AIPERF])))[3], 2.1)
        self.assertIsNone(self.read(json.dumps(GUIDELLM))[3])

    def test_what_guidellm_wrote(self):
        """GuideLLM 0.8.1 against the stand-in server; three of its requests."""
        good, failed, wrong, _ = foreign.read_result(LOADS / "guidellm.json")
        self.assertEqual((len(good), failed, wrong), (3, 0, None))
        self.assertEqual({key: good[0][key] for key in ("tokens", "prompt_tokens")},
                         {"tokens": 5, "prompt_tokens": 5})
        self.assertAlmostEqual(good[0]["ttft_ms"], 3.01527977)
        self.assertAlmostEqual(good[0]["tpot_ms"], 0.060141087)
        self.assertAlmostEqual(good[0]["ms"], 4.06527519)
        self.assertAlmostEqual(good[0]["sent_utc_ns"] / 1e9, 1795462365.1453767, 6)

    def test_what_aiperf_wrote(self):
        """AIPerf 0.13.0 against the same: three of its requests, and one of another run that
        failed."""
        good, failed, wrong, _ = foreign.read_result(LOADS / "aiperf.jsonl")
        self.assertEqual((len(good), failed, wrong), (3, 1, None))
        self.assertEqual(good[1], {"ttft_ms": 2.503667, "tpot_ms": 0, "ms": 2.503667,
                                   "tokens": 10, "prompt_tokens": 16,
                                   "sent_utc_ns": good[1]["sent_utc_ns"]})
        self.assertEqual(good[0]["sent_utc_ns"], 1795462471083317562)

    def test_prompts_of_no_tokens_and_warmup(self):
        made = json.loads(json.dumps(GUIDELLM))
        made["benchmarks"][0]["requests"]["successful"][0]["prompt_tokens"] = 0
        self.assertNotIn("prompt_tokens", self.read(json.dumps(made))[0][0])
        made = json.loads(json.dumps(AIPERF))
        made[1]["metadata"]["benchmark_phase"] = "warmup"
        self.assertEqual(self.read("\n".join(map(json.dumps, made)))[1], 0)

    def test_rubbish(self):
        for text, said in (("rubbish", "no JSON"), ("[1, 2]", "none of vllm"),
                           ('{"ttfts": [0.1]}', "without the times"),
                           ('{"ttfts": ["a"], "itls": [["b"]]}', "no JSON of a generator"),
                           ('{"benchmarks": [3]}', "no JSON of a generator"),
                           ("", "without the times")):
            good, _, wrong, _ = self.read(text)
            self.assertEqual(good, [], text)
            self.assertIn(said, wrong or "", text)
        self.assertIn("wrote no {result}", foreign.read_result(self.folder / "none")[2] or "")

    def run_generator(self, code, *words):
        return self.run_serve("--warmup", "0", "--command", json.dumps(
            [sys.executable, "-c", code, "{result}", "{url}", "{model}"]), *words)

    def test_one_runs_in_the_window(self):
        code = ("import json, sys\n"
                f"json.dump({dict(VLLM, duration=0.25)!r}, open(sys.argv[1], 'w'))\n"
                "print(sys.argv[2:])")
        status, stdout, stderr = self.run_generator(
            code, "--start-path", "/start_profile", "--stop-path", "/stop_profile")
        self.assertEqual((status, stderr), (0, ""))
        self.assertIn("load: 2 of 3 requests in", stdout)
        self.assertEqual([line.split()[0] for line in self.log()],
                         ["/start_profile", "/stop_profile"])
        self.assertIn("'stand-in'", (self.folder / "load.log").read_text(encoding="utf-8"))
        metrics = self.written()
        self.assertEqual((metrics["load"]["kind"], metrics["load"]["duration_s"]),
                         ("command", 0.25))
        self.assertEqual(metrics["repeats"][0]["tokens_per_s"], 5 / 0.25)

    def test_one_that_fails_hangs_or_is_not_there(self):
        status, _, stderr = self.run_generator("import sys\nprint('no data set')\nsys.exit(3)")
        self.assertEqual((status, stderr),
                         (1, "serve.py: load.command ended with 3: no data set\n"))
        status, _, stderr = self.run_generator("import time\ntime.sleep(600)", "--timeout", "1")
        self.assertEqual((status, stderr), (1, "serve.py: load.command did not end within 1 s "
                                            "(load.timeout_s) and was ended: it said nothing\n"))
        status, _, stderr = self.run_serve("--warmup", "0", "--command", '["/no/such"]')
        self.assertEqual((status, stderr), (3, "serve.py: load.command: '/no/such' cannot be "
                                            "started: No such file or directory\n"))

    def test_one_that_writes_nothing_is_said(self):
        status, _, stderr = self.run_generator("pass")
        self.assertEqual((status, stderr), (0, "serve.py: load.command wrote no {result}: what "
                                            "its requests took is not known\n"))
        metrics = self.written()
        self.assertNotIn("requests", metrics["load"])
        self.assertIn("wrote no {result}", metrics["load"]["unread"])


NAMES = ("--metrics-path", "/metrics", "--metric", "running=vllm:num_requests_running",
         "--metric", "kv_use=vllm:gpu_cache_usage_perc", "--metric",
         "kv_use=vllm:kv_cache_usage_perc", "--metric", "preemptions=vllm:num_preemptions_total",
         "--metric", "waiting=vllm:num_requests_waiting")


class EngineMetrics(test_serve.Serving):
    def seen(self, fault=""):
        status, _, stderr = self.run_serve(*RATE, *NAMES, fault=fault)
        self.assertEqual((status, stderr), (0, ""))
        return self.written()["engine_metrics"]

    def test_before_and_after(self):
        seen = self.seen()
        self.assertGreaterEqual(len(seen["samples"]), 2)
        self.assertEqual((seen["failed"], seen["complaint"]), (0, None))
        first, last = seen["samples"][0], seen["samples"][-1]
        self.assertEqual((first["running"], first["kv_use"]), (2, 0.25))
        self.assertGreater(last["preemptions"], first["preemptions"])
        self.assertNotIn("waiting", first)

    def test_a_page_without_end_or_of_50_mb_is_said_and_left(self):
        for fault, said in (("huge", "/metrics is larger than 8 MiB"),
                            ("endless", "/metrics does not end")):
            seen = self.seen(fault)
            self.assertEqual((seen["samples"], seen["complaint"]), ([], said))
            self.assertGreaterEqual(seen["failed"], 2)

    def test_numbers(self):
        page = ('# TYPE a gauge\na{x="1 2"} 3\na{x="}"} 4 1700000000000\nb NaN\nc +Inf\n'
                "d 1e3\nbroken\ne -1\n")
        self.assertEqual(scrape.numbers_of(page), {"a": [3, 4], "d": [1000]})
        self.assertEqual(scrape.figures_of(page, {"running": ["z", "a"], "kv_use": ["a"],
                                                  "waiting": ["b"]}),
                         {"running": 7, "kv_use": 4})

    def test_names(self):
        for words in (["speed=x"], ["running"], ["running="]):
            with self.assertRaises(ValueError):
                scrape.parse_names(words)
