"""What the tests of the workloads share."""

import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "recipes" / "workloads"
sys.path.insert(0, str(PROGRAMS))
sys.dont_write_bytecode = True

import workload_common as common  # noqa: E402  (found through the line above)

HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
needs_torch = unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
needs_transformers = unittest.skipUnless(HAS_TORCH and HAS_TRANSFORMERS,
                                         "transformers is not installed")


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, name, content=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def written(self, name="metrics"):
        """What a program wrote about itself: metrics.json or operators.json."""
        path = self.folder / f"{name}.json"
        self.assertEqual(refusal(name, path), "")
        return json.loads(path.read_text(encoding="utf-8"))

    def fails(self, status, message, function, *args):
        """The one error the user sees: literally, or where {} stands any text."""
        with self.assertRaises(common.WorkloadError) as caught:
            function(*args)
        self.assertEqual(caught.exception.status, status)
        parts = [re.escape(part) for part in message.split("{}")]
        self.assertRegex(str(caught.exception), "^" + ".*".join(parts) + "$")


def refusal(name, path):
    """Why llmprof ($LLMPROF) would not read metrics.json or operators.json; without it, nothing."""
    program = os.environ.get("LLMPROF")
    return program and subprocess.run(
        [program, "exec", str(ROOT / "tests/workloads/check.lua"), name, str(path)], text=True,
        stdout=subprocess.PIPE, check=True).stdout or ""


def run_program(program, *words, environment=None):
    """A program as llmprof runs it: (exit status, stdout, stderr)."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LLMPROF_")}
    done = subprocess.run([sys.executable, str(PROGRAMS / program), *words], text=True,
                          capture_output=True, env={**env, **(environment or {})}, timeout=300)
    return done.returncode, done.stdout, done.stderr


def call_main(main, words, environment=None):
    """A program's main in this process; what it printed."""
    with mock.patch.dict(os.environ, environment or {}), \
            contextlib.redirect_stdout(io.StringIO()) as out:
        main(list(words))
    return out.getvalue()
