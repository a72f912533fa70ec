"""A load generator of somebody else's, and what it writes about its requests."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from workload_common import MISSING, WorkloadError
from workload_load import whole_number
from workload_server import PAUSE, TAIL, running

# From SIGTERM to SIGKILL, s; the most that is read of what it writes.
PATIENCE, MOST = 5, 1 << 30

Record = Dict[str, Any]


# ---- running it ----

def filled(words: Sequence[str], given: Dict[str, str]) -> List[str]:
    """The command with {url}, {host}, {port}, {model} and {result} in their places."""
    filled_in = []
    for word in words:
        for name, value in given.items():
            word = word.replace("{" + name + "}", value)
        filled_in.append(word)
    return filled_in


def end_group(child: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        deadline = time.monotonic() + PATIENCE
        while running(child.pid) and time.monotonic() < deadline:
            child.poll()
            time.sleep(PAUSE / 4)
    child.wait()


def last_lines(log: Path) -> str:
    """What it said last, in one line."""
    with open(log, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        lines = file.read(4096).decode("utf-8", "replace").splitlines()[-TAIL:]
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:200] if said else "it said nothing"


def generate(argv: Sequence[str], log: Path, timeout: float) -> Optional[str]:
    """Run it to its end; what is wrong, in one line, or None."""
    try:
        with open(log, "wb") as output:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        raise WorkloadError(f"load.command: '{argv[0]}' cannot be started: {error.strerror}",
                            MISSING) from error
    try:
        status = child.wait(timeout)
    except subprocess.TimeoutExpired:
        return (f"load.command did not end within {timeout:g} s (load.timeout_s) and was ended: "
                f"{last_lines(log)}")
    finally:
        end_group(child)
    if status != 0:
        return f"load.command ended with {status}: {last_lines(log)}"
    return None


# ---- what it wrote ----

def scaled(value: Any, factor: float) -> Optional[float]:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    return factor * value if good and math.isfinite(factor * value) else None


def counts(value: Any) -> bool:
    """Is it a number of something, of as many bits as others read?"""
    return whole_number(value) and value < 1 << 63


def in_ns(seconds: Any) -> Optional[int]:
    """Seconds since 1970, of which 0 is nobody's."""
    value = scaled(seconds, 1e9)
    return int(value) if value else None


def record_of(ttft: Optional[float], tpot: Optional[float], total: Optional[float],
              tokens: Any, prompt_tokens: Any, sent_ns: Any) -> Optional[Record]:
    """A request as metrics.json has it, times in ms; None where too much is missing."""
    if ttft is None or total is None or not counts(tokens):
        return None
    made = {"ttft_ms": ttft, "tpot_ms": tpot, "ms": total, "tokens": tokens}
    if counts(prompt_tokens) and prompt_tokens > 0:  # 0: it did not learn how many
        made["prompt_tokens"] = prompt_tokens
    if counts(sent_ns):
        made["sent_utc_ns"] = sent_ns
    return made


def of_vllm(said: Any) -> Optional[Tuple[List[Optional[Record]], int]]:
    """vllm bench serve --save-result --save-detailed: lists side by side, seconds."""
    if not isinstance(said, dict) or not isinstance(said.get("ttfts"), list):
        return None
    ttfts, steps = said["ttfts"], said.get("itls") or []
    outputs, inputs = said.get("output_lens") or [], said.get("input_lens") or []
    errors = said.get("errors") or []
    records: List[Optional[Record]] = []
    failed = 0
    for i, ttft in enumerate(ttfts):
        if i < len(errors) and errors[i]:
            failed += 1
            continue
        between = sum(steps[i]) if i < len(steps) else None
        tokens = outputs[i] if i < len(outputs) else 0
        tpot = scaled(between / (tokens - 1), 1e3) if between is not None and tokens > 1 else None
        total = None if between is None else scaled(ttft + between, 1e3)
        records.append(record_of(scaled(ttft, 1e3), tpot, total, tokens,
                                 inputs[i] if i < len(inputs) else None, None))
    return records, failed


def of_guidellm(said: Any) -> Optional[Tuple[List[Optional[Record]], int]]:
    """GuideLLM's benchmarks.json: requests of each benchmark by how they ended."""
    if not isinstance(said, dict) or not isinstance(said.get("benchmarks"), list):
        return None
    records: List[Optional[Record]] = []
    failed = 0
    for benchmark in said["benchmarks"]:
        requests = benchmark.get("requests") or {}
        failed += len(requests.get("errored") or [])
        for one in requests.get("successful") or []:
            records.append(record_of(
                scaled(one.get("time_to_first_token_ms"), 1),
                scaled(one.get("inter_token_latency_ms"), 1),
                scaled(one.get("request_latency"), 1e3), one.get("output_tokens"),
                one.get("prompt_tokens"), in_ns(one.get("request_start_time"))))
    return records, failed


MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "sec": 1e3, "s": 1e3}


def of_aiperf(said: Any) -> Optional[Tuple[List[Optional[Record]], int]]:
    """AIPerf's profile_export.jsonl: a request a line, metrics with their units."""
    if not isinstance(said, list) or not all(
            isinstance(one, dict) and "metadata" in one for one in said):
        return None

    def value(one: Record, name: str, in_ms: bool = True) -> Any:
        metric = (one.get("metrics") or {}).get(name) or {}
        if not in_ms:
            return metric.get("value")
        return scaled(metric.get("value"), MS[metric["unit"]]) if metric else None

    records: List[Optional[Record]] = []
    failed = 0
    for one in said:
        if one["metadata"].get("benchmark_phase", "profiling") != "profiling":
            continue
        if one.get("error"):
            failed += 1
            continue
        records.append(record_of(
            value(one, "time_to_first_token"), value(one, "inter_token_latency"),
            value(one, "request_latency"), value(one, "output_sequence_length", False),
            value(one, "input_sequence_length", False),
            one["metadata"].get("request_start_ns")))
    return records, failed


FORMS: Sequence[Callable[[Any], Optional[Tuple[List[Optional[Record]], int]]]] = (
    of_vllm, of_guidellm, of_aiperf)


def parse(text: str) -> Any:
    """One JSON, or one a line."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def span_of(requests: Sequence[Record]) -> Optional[float]:
    """Seconds from the first that was sent to the last answer; None where one does not say
    when it was sent."""
    if not requests or any("sent_utc_ns" not in one for one in requests):
        return None
    begin = min(one["sent_utc_ns"] for one in requests)
    return max((one["sent_utc_ns"] - begin) / 1e9 + one["ms"] / 1e3 for one in requests)


def seconds_of(said: Any, requests: Sequence[Record]) -> Optional[float]:
    """How long it measured, without its own start and end: as it says, or by its requests."""
    told = scaled(said.get("duration"), 1) if isinstance(said, dict) else None
    return told or span_of(requests)


def read_result(path: Path) -> Tuple[List[Record], int, Optional[str], Optional[float]]:
    """Requests, how many failed, what is wrong with the file, and the seconds they took."""
    if not path.exists():
        return [], 0, "load.command wrote no {result}: what its requests took is not known", None
    try:
        if path.stat().st_size > MOST:
            raise ValueError
        said = parse(path.read_text(encoding="utf-8"))
        read = next((made for made in (form(said) for form in FORMS) if made), None)
    except (OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError,
            RecursionError):
        return [], 0, "load.command wrote a {result} that is no JSON of a generator", None
    if read is None:
        return [], 0, ("load.command wrote a {result} that is none of vllm bench serve, GuideLLM "
                       "and AIPerf"), None
    good = [record for record in read[0] if record]
    if not good:
        return [], read[1], "load.command wrote a {result} without the times of any request", None
    return good, read[1], None, seconds_of(said, good)
