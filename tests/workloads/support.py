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

    def fails(self, status, message, function, *args):
        """The one error the user sees: literally, or where {} stands any text."""
        with self.assertRaises(common.WorkloadError) as caught:
            function(*args)
        self.assertEqual(caught.exception.status, status)
        parts = [re.escape(part) for part in message.split("{}")]
        self.assertRegex(str(caught.exception), "^" + ".*".join(parts) + "$")


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


# ---- JSON schemas ----

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "required", "properties",
         "additionalProperties", "items", "minItems", "minimum", "pattern", "enum", "const",
         "dependentRequired"}


def load_schema(name):
    return json.loads((ROOT / "docs" / f"{name}.schema.json").read_text(encoding="utf-8"))


def problems(value, schema, root=None, where="$"):
    """What is wrong with a value, by the keywords that the schemas in docs/ use."""
    root = root or schema
    if not set(schema) <= KNOWN:
        raise ValueError(f"keyword not known: {set(schema) - KNOWN}")
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        return [f"{where}: {value!r} is not {kinds}"]
    found = list(scalar_problems(value, schema, where))
    if isinstance(value, dict):
        found += object_problems(value, schema, root, where)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append(f"{where}: too short")
        for i, item in enumerate(value):
            found += problems(item, schema.get("items", {}), root, f"{where}[{i}]")
    return found


def scalar_problems(value, schema, where):
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if TYPES["number"](value) and value < schema.get("minimum", value):
        yield f"{where}: {value} is too small"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{where}: {value!r} does not match"


def object_problems(value, schema, root, where):
    found = [f"{where}: no {key}" for key in schema.get("required", []) if key not in value]
    found += [f"{where}: {key} without {other}"
              for key, others in schema.get("dependentRequired", {}).items() if key in value
              for other in others if other not in value]
    for key, item in value.items():
        inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
        found += problems(item, inner, root, f"{where}.{key}")
    return found
