"""toy_llm: what it says without a GPU, and what it does with one.

TOY_LLM names the program. With a GPU the runs are compared with each other.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import support

TOY = os.environ.get("TOY_LLM")
SMALL = ("--layers", "2", "--hidden", "128", "--prompt", "20", "--steps", "6")


def run_toy(*words, folder=None, timeout=60):
    env = {name: value for name, value in os.environ.items() if not name.startswith("LLMPROF_")}
    if folder:
        env["LLMPROF_WORKLOAD_DIR"] = str(folder)
    done = subprocess.run([TOY, *words], text=True, capture_output=True, env=env,
                          timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def has_gpu():
    return TOY is not None and run_toy(*SMALL, "--repeats", "1")[0] != 3


@unittest.skipUnless(TOY, "TOY_LLM does not name the program")
class Options(unittest.TestCase):
    def rejects(self, message, *words):
        self.assertEqual(run_toy(*words),
                         (2, "", f"toy_llm: {message} (--help lists the options)\n"))

    def test_help(self):
        status, stdout, stderr = run_toy("--help")
        self.assertEqual((status, stderr), (0, ""))
        self.assertIn("  --steps              N decode steps in each repeat (32)\n", stdout)
        self.assertEqual(run_toy("--steps", "5", "--help")[1], stdout)

    def test_words_that_are_no_options(self):
        self.rejects("'--bogus': no such option", "--bogus")
        self.rejects("'': no such option", "")
        self.rejects("'--step': no such option", "--step", "3")
        self.rejects("'--steps': needs a value", "--graph", "--steps")

    def test_numbers(self):
        for text in ("0", "-1", "4097", "1.5", "1x", "", " ", "9" * 30):
            with self.subTest(text=text):
                self.rejects(f"'{text}': --steps takes a whole number from 1 to 4096",
                             "--steps", text)
        self.rejects("'256': --exit-code takes a whole number from 0 to 255",
                     "--exit-code", "256")
        self.rejects("'--hidden': not a multiple of 64", "--hidden", "100")


@unittest.skipUnless(TOY, "TOY_LLM does not name the program")
class NoGpu(unittest.TestCase):
    def setUp(self):
        if has_gpu():
            self.skipTest("there is a GPU")

    def test_no_device(self):
        with tempfile.TemporaryDirectory() as folder:
            status, stdout, stderr = run_toy("--exit-code", "7", folder=folder)
            self.assertEqual((status, stdout), (3, ""))
            self.assertRegex(stderr, r"^toy_llm: no CUDA device: .+\n$")
            self.assertEqual(os.listdir(folder), [])

    def test_workers(self):
        status, _, stderr = run_toy("--fork", "3")
        self.assertEqual((status, stderr.count("no CUDA device")), (3, 3))


@unittest.skipUnless(TOY, "TOY_LLM does not name the program")
class WithGpu(support.Case):
    def setUp(self):
        if not has_gpu():
            self.skipTest("there is no GPU")
        super().setUp()

    def test_metrics(self):
        self.assertEqual(run_toy(*SMALL, "--repeats", "3", folder=self.folder)[0], 0)
        metrics = self.written()
        self.assertEqual((len(metrics["repeats"]), metrics["prompt_tokens"],
                          metrics["new_tokens"]), (3, 20, 7))
        decode = metrics["repeats"][2]["stages"]["decode"]
        self.assertEqual((decode["steps"], len(decode["steps_ms"]),
                          len(decode["steps_gpu_ms"])), (6, 6, 6))
        self.assertEqual(os.listdir(self.folder), ["metrics.json"])

    def test_every_way_says_the_same(self):
        # What the arithmetic comes to, by a calculation in double precision elsewhere.
        small = ("--layers", "2", "--hidden", "64", "--prompt", "20", "--steps", "6")
        for words in ((), ("--graph",), ("--no-nvtx",), ("--warmup", "0"), ("--fork", "2")):
            with self.subTest(words=words):
                status, stdout, _ = run_toy(*small, *words)
                self.assertEqual(status, 0)
                self.assertEqual(set(re.findall(r"tokens (\w+)", stdout)),
                                 {"53f8403ce349b804"})

    def test_ways_to_fail(self):
        self.assertEqual(run_toy(*SMALL, "--exit-code", "7", folder=self.folder)[0], 7)
        self.assertEqual(self.written()["workload"], "toy_llm")
        self.assertEqual(run_toy(*SMALL, "--crash-after-output")[0], -6)
        with self.assertRaises(subprocess.TimeoutExpired):
            run_toy(*SMALL, "--hang", timeout=10)
        self.assertEqual(run_toy(*SMALL, "--broken-metrics", folder=self.folder)[0], 0)
        with self.assertRaises(ValueError):
            json.loads((self.folder / "metrics.json").read_text(encoding="utf-8"))
        status, _, stderr = run_toy(*SMALL, folder=Path("/no/such"))
        self.assertEqual(status, 1)
        self.assertRegex(stderr, r"^toy_llm: /no/such/\.metrics\.\w+: No such file")


if __name__ == "__main__":
    unittest.main()
