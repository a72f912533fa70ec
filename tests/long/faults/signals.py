#!/usr/bin/env python3
"""How long commands take to end at the first signal: signals.py PROGRAM [--rounds N]
[--size S] [--phases A,B].

Every phase that can be long gets an input with which it is long, runs once to its end and
then again and again, interrupted at a moment in between. A finding is an end that takes
longer than a second, a status other than 130 (0 where it was through), or a bug.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[3]
TRACE = ROOT / "tests/fixtures/deepseek_ocr/run.sqlite"
BUGS = re.compile(rb"stack traceback|this is a bug in llmprof|Sanitizer|runtime error:")
AT_MOST = 1.0  # s
PATIENCE = 600


# ---- inputs: size is a factor ----

def timeline(folder: Path, size: int) -> Path:
    path = folder / "timeline.sqlite"
    if not path.is_file():
        subprocess.run([sys.executable, ROOT / "tests/bench/tile.py", TRACE, path,
                        str(10 * size)], check=True, stdout=subprocess.DEVNULL)
    return path


def document(folder: Path, size: int) -> Path:
    """170 MB of JSON for each step of the size: objects, numbers, texts."""
    path = folder / "document.json"
    piece = json.dumps([{"name": f"n{i}", "values": [i, i / 7, None], "text": "x" * 40}
                        for i in range(1000)])[1:-1]
    with path.open("w") as file:
        file.write("[" + piece)
        for _ in range(1700 * size):
            file.write("," + piece)
        file.write("]")
    return path


def yaml(folder: Path, size: int) -> Path:
    path = folder / "document.yaml"
    with path.open("w") as file:
        for i in range(150000 * size):
            file.write(f"key{i}: [1, 2.5, text, {{a: b}}]\n")
    return path


def table(folder: Path, size: int) -> Path:
    path = folder / "table.csv"
    lines = (ROOT / "tests/fixtures/deepseek_ocr/ncu/raw.csv").read_text().splitlines(True)
    begin = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    with path.open("w") as file:
        file.writelines(lines[begin:begin + 2])
        for i in range(1, 400 * size):  # each launch has an ID of its own
            file.writelines(line.replace('"', f'"1{i:06}', 1) for line in lines[begin + 2:])
    return path


def events(folder: Path, size: int, packed: bool = False) -> Path:
    path = folder / "events.pt.trace.json"
    if not path.is_file():
        with path.open("w") as file:
            file.write('{"traceEvents":[\n')
            for i in range(2000000 * size):
                file.write('%s{"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":1,"tid":%d,'
                           '"ts":%d.5,"dur":3,"args":{"External id":%d}}\n'
                           % ("," if i else "", i % 97, i % 4, i, i))
            file.write("]}\n")
    if packed:
        subprocess.run(["gzip", "-kf1", path], check=True)
        return path.with_name(path.name + ".gz")
    return path


def exec_script(folder: Path, name: str, text: str) -> List[str]:
    (folder / name).write_text(text)
    return ["exec", str(folder / name)]


Maker = Callable[[Path, int], List[str]]


def frame(expression: str) -> Maker:
    return lambda folder, size: ["-e", expression, str(timeline(folder, size))]


PHASES: Dict[str, Maker] = {
    "page reader": lambda folder, size: ["stats", "-r", "cuda_api_sum",
                                         str(timeline(folder, size))],
    "sort": frame('for i = 1, 20 do api:sort("name", "-dur", "start") end'),
    "group": frame('for i = 1, 20 do api:group("name"):sum("dur") end'),
    "SQL": frame("sql[[SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME a JOIN "
                 "CUPTI_ACTIVITY_KIND_RUNTIME b ON a.start < b.end]]"),
    "compare": lambda folder, size: ["compare", *[str(timeline(folder, size))] * 2],
    "scrub": lambda folder, size: ["scrub", str(timeline(folder, size)), "-o",
                                   str(folder / "scrubbed.sqlite")],
    "export": lambda folder, size: ["export", str(timeline(folder, size)), "-o",
                                    str(folder / "events.json")],
    "export, packed": lambda folder, size: ["export", str(timeline(folder, size)), "-o",
                                            str(folder / "events.json.gz")],
    "Chrome trace": lambda folder, size: ["operators", str(events(folder, size))],
    "Chrome trace, packed": lambda folder, size: ["operators", str(events(folder, size, True))],
    "CSV": lambda folder, size: ["-e", "counters:head(3)", str(table(folder, size))],
    "JSON": lambda folder, size: exec_script(
        folder, "json.lua", f'assert(require("llmprof.json").load("{document(folder, size)}"))'),
    "YAML": lambda folder, size: exec_script(
        folder, "yaml.lua", f'assert(require("llmprof.yaml").load("{yaml(folder, size)}"))'),
    "JSON, written": lambda folder, size: exec_script(
        folder, "write.lua", "local t = {} for i = 1, %d do t[i] = { a = i, b = 'x' } end "
        "for _ = 1, 5 do require('llmprof.json').encode(t) end" % (1000000 * size)),
    "Lua": lambda folder, size: exec_script(folder, "lua.lua", "while true do end"),
    "pattern": lambda folder, size: exec_script(
        folder, "pattern.lua", '(("a"):rep(40)):find(("a*"):rep(30) .. "b")'),
    "copy": lambda folder, size: exec_script(
        folder, "copy.lua", f'require("llmprof.fs").copy("{document(folder, 4 * size)}", '
        f'"{folder}/copy")'),
    "run": lambda folder, size: ["recipes/deepseek_ocr.lua", "capture=recorded",
                                 f"recorded={capture(folder, size)}", "run.root=" +
                                 str(folder / "runs"), "-q"],
}


def capture(folder: Path, size: int) -> Path:
    """The recorded capture with the long timeline."""
    copy = folder / "capture"
    if not copy.is_dir():
        shutil.copytree(TRACE.parent, copy)
        (copy / "run.sqlite").unlink()
        os.link(timeline(folder, size), copy / "run.sqlite")
    return copy


# ---- measuring ----

def environment(folder: Path) -> Dict[str, str]:
    return dict(PATH=os.environ["PATH"], LC_ALL="C.UTF-8", NO_COLOR="1", HOME=str(folder),
                XDG_CACHE_HOME=str(folder / "cache"), TMPDIR=str(folder),
                LLMPROF_LIMITS="ratio=0,bytes=0")


def start(program: str, words: List[str], folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([program, *words], cwd=ROOT, env=environment(folder),
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def length(program: str, words: List[str], folder: Path) -> float:
    """Seconds to its end; those that would take longer are ended after ten."""
    began = time.monotonic()
    child = start(program, words, folder)
    try:
        _, err = child.communicate(timeout=10)
        if child.returncode:
            sys.exit(err.decode("utf-8", "replace"))
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    return time.monotonic() - began


def interrupted(program: str, words: List[str], folder: Path, after: float,
                number: int) -> Tuple[float, int, bytes]:
    child = start(program, words, folder)
    time.sleep(after)
    child.send_signal(number)
    sent = time.monotonic()
    _, err = child.communicate(timeout=PATIENCE)
    return time.monotonic() - sent, child.returncode, err


def measure(program: str, name: str, words: List[str], folder: Path, rounds: int) -> List[str]:
    numbers, worst, findings, ended, forced = random.Random(name), 0.0, [], 0, 0
    whole = length(program, words, folder)
    for i in range(rounds):
        after = whole * numbers.uniform(0.02, 0.95)
        took, status, err = interrupted(program, words, folder, after,
                                        [signal.SIGINT, signal.SIGTERM][i % 2])
        worst = max(worst, took)
        ended += status == 130
        forced += err == b"llmprof: interrupted\n" and took > AT_MOST * 0.9
        if took > AT_MOST + 0.5 or status not in (0, 130) or BUGS.search(err):
            findings.append(f"{name}: status {status}, {took:.2f} s after a signal at "
                            f"{after:.2f} s: {err.decode('utf-8', 'replace')[-200:]}")
    print(f"{name:22} {whole:6.1f} s  {rounds} signals, {ended} ended it, worst {worst:5.2f} s, "
          f"by force {forced}", flush=True)
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--phases", default=",".join(PHASES).replace(", ", "; "))
    given = parser.parse_args()
    program, findings = str(Path(given.program).resolve()), []
    for name in given.phases.split(","):
        with tempfile.TemporaryDirectory(prefix="llmprof-signals.") as folder:
            words = PHASES[name.replace("; ", ", ")](Path(folder), given.size)
            findings += measure(program, name, words, Path(folder), given.rounds)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
