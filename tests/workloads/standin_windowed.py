#!/usr/bin/env python3
"""The stand-in workload inside a window that it opens and closes as it is told."""

import json
import os
import subprocess
import sys


def told(name):
    if subprocess.run(json.loads(os.environ[name]), check=False).returncode:
        sys.exit(1)


told("LLMPROF_WINDOW_OPEN")
print("the window is open", flush=True)
tests = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
subprocess.run([os.path.join(tests, "standin", "workload"), *sys.argv[1:]], check=False)
told("LLMPROF_WINDOW_CLOSE")
