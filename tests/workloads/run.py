#!/usr/bin/env python3
"""The tests of the workloads: run.py plain|torch|toy.

plain needs nothing but Python; torch needs PyTorch (and, for some, transformers);
toy needs $TOY_LLM, the compiled program. Exit status 77: what it needs is missing.
"""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import support

GROUPS = {
    "plain": ["test_clock", "test_collected", "test_files", "test_hostile", "test_inputs",
              "test_launch", "test_load", "test_models", "test_options", "test_serve"],
    "torch": ["test_checkpoints", "test_decoder", "test_encoder", "test_operators",
              "test_programs", "test_templates"],
    "toy": ["test_toy"],
}


def missing(group):
    if group == "torch" and not support.HAS_TORCH:
        return f"{sys.executable} has no PyTorch"
    if group == "toy" and not os.environ.get("TOY_LLM"):
        return "TOY_LLM does not name the program"
    return None


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in GROUPS:
        sys.exit(__doc__)
    reason = missing(sys.argv[1])
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    suite = unittest.defaultTestLoader.loadTestsFromNames(GROUPS[sys.argv[1]])
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)


if __name__ == "__main__":
    main()
