#!/usr/bin/env python3
"""Commands on changed files: run.py PROGRAM [--files N] [--seed S].

Each is a fixture with a few changes of its rows, values or bytes, made from the seed and
its number alone: timelines, recorded captures, bundles, settings for --config, descriptions of
models, timelines and parts of several ranks, spools of the collector (where make_spool is
built), conversations with `mcp` and questions to `ask`. A finding is a traceback, a report
of a sanitizer, a byte that a terminal acts on, a failure without a line, an answer of `mcp`
that is none, or no end.
"""

import argparse
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ["small/run.sqlite", "repeats/run.1.sqlite", "graphs/graph.sqlite",
            "graphs/node.sqlite", "unmarked/eager.sqlite", "unmarked/whole.sqlite",
            "odd/no_nvtx.sqlite"]
NUMBERS = [-1, 0, 1, 2**31 - 1, -2**31, 2**32, 2**53, 2**62, 2**63 - 1, -2**63, 10**18]
TEXTS = ["", "<script>", "=cmd|x", "a|b", "\x1b]0;x\x07", "\u202ex", "x" * 5000, "../../etc/passwd",
         "decode", "prefill", "\n# h", "%s%n"]
BUGS = re.compile(rb"stack traceback|this is a bug in llmprof|Sanitizer|runtime error:")
ACTED_ON = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
PATIENCE = 60

program = ""


def value(numbers: random.Random) -> object:
    return numbers.choice([numbers.choice(NUMBERS), numbers.choice(TEXTS), None,
                           numbers.choice([0.5, 1e308, -1e-320]), b"\x00\xff"])


def change_rows(path: Path, numbers: random.Random) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA synchronous = OFF")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE "
                                               "type = 'table' ORDER BY name")]
        for _ in range(numbers.choice([1, 1, 2, 4])):
            table = numbers.choice(tables)
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            column = numbers.choice(columns)
            rest = numbers.choice(["", f" WHERE rowid % {numbers.randint(2, 9)} = 0",
                                   " WHERE rowid = 1"])
            change = numbers.choice([
                f'UPDATE OR IGNORE "{table}" SET "{column}" = ?{rest}',
                f'DELETE FROM "{table}"{rest}', f'ALTER TABLE "{table}" DROP COLUMN "{column}"',
                f'UPDATE OR IGNORE "{table}" SET "{column}" = -"{column}"{rest}'])
            try:
                db.execute(change, (value(numbers),) if "?" in change else ())
            except sqlite3.Error:
                pass
    db.close()


def change_bytes(path: Path, numbers: random.Random) -> None:
    contents = bytearray(path.read_bytes())
    for _ in range(numbers.choice([1, 4, 32])):
        place = numbers.randrange(len(contents))
        contents[place] = numbers.choice([0, 255, numbers.randrange(256)])
    if numbers.random() < 0.2:
        del contents[numbers.randrange(1, len(contents)):]
    path.write_bytes(contents)


def change_json(path: Path, numbers: random.Random) -> None:
    """Change values anywhere in a document, or take them away."""
    document = json.loads(path.read_text())
    for _ in range(numbers.choice([1, 2, 4])):
        change_value(document, numbers)
    path.write_text(json.dumps(document))


def change_value(inside: Any, numbers: random.Random) -> None:
    while True:
        keys = list(range(len(inside))) if isinstance(inside, list) else sorted(inside)
        if not keys:
            return
        key = numbers.choice(keys)
        if not isinstance(inside[key], (dict, list)) or numbers.random() < 0.25:
            break
        inside = inside[key]
    if numbers.random() < 0.2:
        del inside[key]
    else:
        inside[key] = numbers.choice([*NUMBERS, *TEXTS, 0.5, 1e308, True, None, [], {}, [[]]])


def change_words(path: Path, numbers: random.Random) -> None:
    """Change a text file: words of it, or bytes."""
    if numbers.random() < 0.3:
        change_bytes(path, numbers)
        return
    words = re.split(r"(\W+)", path.read_text())
    for _ in range(numbers.choice([1, 2, 4])):
        words[numbers.randrange(len(words))] = str(numbers.choice(
            [*NUMBERS, *TEXTS, "[", "{a: [b", "&a *a", "!!str", "null", "~", "\t", "- -"]))
    path.write_text("".join(words))


def change(path: Path, numbers: random.Random) -> None:
    if path.suffix == ".sqlite":
        (change_rows if numbers.random() < 0.6 else change_bytes)(path, numbers)
    elif path.suffix == ".json" and numbers.random() < 0.8:
        change_json(path, numbers)
    else:
        change_words(path, numbers)


# ---- what is changed, and the command that is given it ----


def timeline(folder: Path, numbers: random.Random, number: int) -> List[str]:
    path = folder / "trace.sqlite"
    shutil.copyfile(ROOT / "tests/fixtures" / numbers.choice(FIXTURES), path)
    change(path, numbers)
    return [["stats", str(path)], ["export", str(path), "-o", str(folder / "x.json")],
            ["scrub", str(path), "-o", str(folder / "s.sqlite")], ["compare", str(path), str(path)],
            ["-e", 'kernels:group("name"):sum("dur")', str(path)]][number % 5]


def copied(folder: Path, fixture: str) -> Path:
    made = folder / "copied"
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(ROOT / fixture, made, copy_function=shutil.copyfile)
    return made


def changed_one(made: Path, numbers: random.Random) -> None:
    """Change one of a folder's files that are no timeline, and rarely that."""
    files = sorted(path for path in made.rglob("*") if path.suffix in (".json", ".csv", ".yaml"))
    if numbers.random() < 0.1:
        files = sorted(made.rglob("*.sqlite")) or files
    change(numbers.choice(files), numbers)


def capture(folder: Path, numbers: random.Random, number: int) -> List[str]:
    made = copied(folder, numbers.choice(["tests/fixtures/small", "recipes/recorded/alt_llm",
                                          "tests/fixtures/deepseek_ocr"]))
    changed_one(made, numbers)
    shutil.rmtree(folder / "out", ignore_errors=True)
    return ["recipes/deepseek_ocr.lua", "capture=recorded", f"recorded={made}",
            f"out={folder / 'out'}", "-q"][:5 - number % 2]


def bundle(folder: Path, numbers: random.Random, number: int) -> List[str]:
    sound = f"tests/fixtures/compare/{numbers.choice(['eager', 'graph'])}"
    made = copied(folder, sound)
    changed_one(made, numbers)
    return [["show", str(made), numbers.choice(["stages", "kernels", "efficiency", "findings"])],
            ["compare", sound, str(made)], ["compare", str(made), str(made)],
            ["ls", "--root", str(folder), "copied"], ["ls", "--root", str(folder)],
            ["-e", "=results", str(made)], ["digest", str(made)],
            ["digest", "-f", "json", str(made)]][number % 8]


def settings(folder: Path, numbers: random.Random, _: int) -> List[str]:
    path = folder / "config.yaml"
    source = numbers.choice(["tests/fixtures/compare/eager/config.yaml", "conf/nsys/default.yaml",
                             "conf/mode/deep.yaml", "conf/ncu/default.yaml"])
    if not (ROOT / source).exists():
        source = "tests/fixtures/compare/graph/config.yaml"
    shutil.copyfile(ROOT / source, path)
    change_words(path, numbers)
    return ["recipes/deepseek_ocr.lua", "--config", str(path), "--print-config"]


def described_model(folder: Path, numbers: random.Random, number: int) -> List[str]:
    names = sorted((ROOT / "tests/fixtures/model").glob("*.json")) if number % 2 else \
        sorted((ROOT / "conf/model").glob("*.yaml"))
    source = numbers.choice(names)
    path = folder / ("model" + source.suffix)
    shutil.copyfile(source, path)
    change(path, numbers)
    shutil.rmtree(folder / "out", ignore_errors=True)
    return ["recipes/deepseek_ocr.lua", "capture=recorded", "recorded=tests/fixtures/small",
            f"model.{'config' if number % 2 else 'arch'}={path}", f"out={folder / 'out'}", "-q"]


def ranks(folder: Path, numbers: random.Random, number: int) -> List[str]:
    paths = []
    for rank in range(2):
        paths.append(folder / f"rank{rank}.sqlite")
        shutil.copyfile(ROOT / f"tests/fixtures/nccl2/rank{rank}.sqlite", paths[rank])
    change(paths[numbers.randrange(2)], numbers)
    shutil.rmtree(folder / "out", ignore_errors=True)
    return ["ranks", *map(str, paths), *(["-o", str(folder / "out")] if number % 2 else [])]


def parts(folder: Path, numbers: random.Random, _: int) -> List[str]:
    made = folder / "parts"
    if not (folder / "whole").is_dir():
        subprocess.run([program, "ranks", "--shard", "1/1", "-o", str(folder / "whole"),
                        *[f"tests/fixtures/nccl2/rank{rank}.sqlite" for rank in range(2)]],
                       cwd=ROOT, check=True, capture_output=True)
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(folder / "whole", made)
    change_bytes(numbers.choice(sorted(made.iterdir())), numbers)
    return ["ranks", "--merge", str(made)]


def spool(folder: Path, numbers: random.Random, number: int) -> List[str]:
    path = folder / "run.spool"
    maker = Path(program).resolve().parents[1] / "tests/c/make_spool"
    if not maker.is_file():
        return ["--version"]
    subprocess.run([maker, path], check=True)
    change_bytes(path, numbers)
    return [["stats", str(path)], ["-e", "print(units, counters, samples, kernels)", str(path)],
            ["export", str(path), "-o", str(folder / "x.json")]][number % 3]


REQUESTS = [
    {"method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
    {"method": "tools/list", "params": {}}, {"method": "resources/list"},
    {"method": "resources/read", "params": {"uri": "llmprof://runs/copied/report.md"}},
    {"method": "notifications/cancelled", "params": {"requestId": 3}},
    {"method": "tools/call", "params": {"name": "digest", "arguments": {
        "run": "copied", "bytes": 2000}}},
    {"method": "tools/call", "params": {"name": "table", "arguments": {
        "run": "copied", "section": "kernels", "filter": {"name": "gemm"}, "top": 3}}},
    {"method": "tools/call", "params": {"name": "query", "arguments": {
        "run": "copied", "code": "results.stages"}}},
    {"method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}},
]


def conversation(folder: Path, numbers: random.Random, _: int) -> List[str]:
    made = copied(folder, "tests/fixtures/compare/graph")
    if numbers.random() < 0.3:
        changed_one(made, numbers)
    lines = []
    for number in range(6):
        request = json.loads(json.dumps(numbers.choice(REQUESTS)))
        request.update(jsonrpc="2.0", id=number)
        for _ in range(numbers.choice([0, 1, 2])):
            change_value(request, numbers)
        line = json.dumps(request, ensure_ascii=numbers.random() < 0.5).encode()
        if numbers.random() < 0.3:
            at = numbers.randrange(len(line))
            line = line[:at] + numbers.choice([b"\xff", b"\0", b"\n", b"[" * 3000, b"\x1b[31m",
                                               b"\\ud800", b"x" * (1 << 20)]) + line[at:]
        lines.append(line)
    (folder / "said").write_bytes(b"\n".join(lines))
    return ["mcp", "--root", str(folder), "--seconds", "20"]


WORDS = ["kernels", "results", "stages", ":where", ":group", ":sum", ":agg", ":top", ":join", "{",
         "}", "(", ")", '"', '"name"', '"dur"', '"-dur"', "=", ",", ".", "..", "+", "-", "1e308",
         "nil", "-1", "2^53", "0/0", "help", "overlap", "_G", "string", "string.rep", "math.huge",
         "error", "setmetatable", "load", "io", "os.execute", "require", "debug", "function",
         "end", "for", "in", "pairs", "do", "return", "local", "x", ";", "[[", "]]", "\\u{202e}",
         "\\27[31m", "#", "gaps", "steps", "api", "ranges", "counters", "utf8.char",
         "table.concat", "select", "%", "tostring", "next", "assert", "trace", "sql", "run",
         "save", ":save", ":csv", ":chart"]


def question(folder: Path, numbers: random.Random, _: int) -> List[str]:
    path = folder / "trace.sqlite"
    shutil.copyfile(ROOT / "tests/fixtures" / numbers.choice(FIXTURES), path)
    sound = ['kernels:group("name"):sum("dur"):sort("-dur"):top(3)', 'ops:where{kind="kernel"}',
             "for k, v in pairs(results) do end", 'kernels:agg("count", "p99 dur")',
             'ranges:join(kernels, "range"):top(2)', "help(kernels)", "gaps:sort('-dur')"]
    words = re.split(r"(\W)", numbers.choice(sound))
    for _ in range(numbers.choice([1, 2, 4, 8])):
        place = numbers.randrange(len(words))
        words[place:place + numbers.choice([0, 1, 3])] = [numbers.choice(WORDS)]
    return ["ask", " ".join(words) if numbers.random() < 0.2 else "".join(words), str(path)]


KINDS: Dict[str, Callable[[Path, random.Random, int], List[str]]] = {
    "timelines": timeline, "captures": capture, "bundles": bundle, "settings": settings,
    "models": described_model, "ranks": ranks, "parts": parts, "spools": spool,
    "conversations": conversation, "questions": question}

# Of sixteen files so many are of a kind.
SHARES = ["timelines", "captures", "ranks", "bundles", "timelines", "settings", "conversations",
          "models", "timelines", "spools", "questions", "bundles", "timelines", "parts", "captures",
          "conversations"]


def answers_wrong(said: bytes) -> str:
    """What is wrong with the lines of a server."""
    for line in said.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            return "a line that is no JSON"
        if message.get("jsonrpc") != "2.0" or ("result" in message) == ("error" in message):
            return "no answer of JSON-RPC"
        if message.get("error", {}).get("code") == -32603:
            return f"an internal error: {message['error']['message']}"
    return ""


def fault(folder: Path, argv: List[str]) -> str:
    """What is wrong with how a command ends; "" when nothing is."""
    said = folder / "said"
    try:
        done = subprocess.run([program, *argv], cwd=ROOT, capture_output=True, check=False,
                              input=said.read_bytes() if argv[0] == "mcp" else b"",
                              env=dict(os.environ, TMPDIR=str(folder)), timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "no end"
    if argv[0] == "mcp" and (done.returncode or answers_wrong(done.stdout)):
        return answers_wrong(done.stdout) or f"exit status {done.returncode}"
    bug = BUGS.search(done.stderr + done.stdout)
    if bug:
        return bug.group(0).decode()
    if ACTED_ON.search(done.stderr) or ACTED_ON.search(done.stdout):
        return "a byte that a terminal acts on"
    if done.returncode not in (0, 1, 2, 3, 4, 5):
        return f"exit status {done.returncode}"
    return "no line" if done.returncode and not done.stderr.strip() else ""


def try_file(folder: Path, seed: int, number: int) -> Tuple[List[str], str]:
    numbers = random.Random(seed * 1000003 + number)
    argv = KINDS[SHARES[number % len(SHARES)]](folder, numbers, number // len(SHARES))
    return argv, fault(folder, argv)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one file, by its number, which is kept")
    given = parser.parse_args()
    global program
    program, found = given.program, 0
    folder = Path(tempfile.mkdtemp(prefix="llmprof-mutation."))
    wanted = range(given.files) if given.only is None else [given.only]
    for number in wanted:
        argv, wrong = try_file(folder, given.seed, number)
        if wrong:
            found += 1
            print(f"seed {given.seed}, file {number}: {wrong}: llmprof {' '.join(argv)}",
                  flush=True)
    if given.only is None:
        shutil.rmtree(folder)
    kinds = [SHARES[number % len(SHARES)] for number in wanted]
    print(", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS))
    print(f"{len(wanted)} files, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
