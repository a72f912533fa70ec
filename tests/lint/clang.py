#!/usr/bin/env python3
"""Does Clang warn of a C file that GCC compiles? usage: clang.py BUILD; 77: no clang."""

import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

build = Path(sys.argv[1])
if not shutil.which("clang"):
    print("skipped: no clang")
    sys.exit(77)


def check(entry):
    words = shlex.split(entry["command"])
    del words[: next(i for i, word in enumerate(words) if word.startswith("-"))]
    at = words.index("-o")
    del words[at : at + 2]
    done = subprocess.run(["clang", "-fsyntax-only", "-Werror", *words], cwd=entry["directory"],
                          stderr=subprocess.PIPE, text=True, check=False)
    return done.stderr


own = [entry for entry in json.loads((build / "compile_commands.json").read_text())
       if entry["file"].endswith(".c") and not Path(entry["file"]).is_relative_to(build)]
if len(own) < 200:
    sys.exit(f"{build}/compile_commands.json has {len(own)} C files")
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    said = [text for text in pool.map(check, own) if text]
print("".join(said))
sys.exit(1 if said else 0)
