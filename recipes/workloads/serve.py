#!/usr/bin/env python3
"""A serving engine under a fixed load, to be profiled.

    serve.py [OPTION...] -- SERVER [ARGUMENT...]

Starts the server, waits until it is ready, warms up, opens the profiling window,
sends rounds of requests to its OpenAI-compatible completions endpoint, closes the
window and ends the server with all its processes. The requests of a round are sent
at once, and the next round begins when all are answered. Times as a client sees
them go to $LLMPROF_WORKLOAD_DIR/metrics.json, the server's output to server.log
there. Exit status: 1 failed, 2 usage, 3 the server's program is missing.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
from typing import Any, Dict, List, Optional, Sequence

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import workload_common as common
from workload_client import FIRST_TOKEN, Answer, Load, complaint_of, model_name, send_round
from workload_common import MISSING, USAGE, WorkloadError, first_line
from workload_server import Endpoint, Server, end_on_signals

# Seconds from SIGTERM to SIGKILL where nothing is to be kept any more.
HURRY = 3

# Seconds in which a server that closes its connections has died, if it does.
DEATH = 2


def endpoint(text: str) -> Endpoint:
    try:
        return Endpoint(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def parse(argv: Sequence[str]) -> argparse.Namespace:
    words = list(argv)
    split = words.index("--") if "--" in words else len(words)
    parser = common.Parser(description=__doc__.split("\n\n")[0])
    group = parser.add_argument_group("server")
    group.add_argument("--url", type=endpoint, default="http://127.0.0.1:8000",
                       help="where it listens")
    group.add_argument("--health", default="/health", help="answers 200 once it is ready")
    group.add_argument("--ready-timeout", type=common.whole(1), default=900, metavar="S")
    group.add_argument("--stop-timeout", type=common.whole(0), default=60, metavar="S",
                       help="from SIGTERM to SIGKILL")
    group.add_argument("--answer-timeout", type=common.whole(1), default=300, metavar="S",
                       help="without a word from the server")
    group = parser.add_argument_group("profiling window")
    group.add_argument("--start-path", default="", help="a POST that opens it")
    group.add_argument("--start-body", default="", metavar="JSON")
    group.add_argument("--stop-path", default="", help="a POST that closes it")
    group = parser.add_argument_group("load")
    group.add_argument("--rounds", type=common.whole(1), default=3)
    group.add_argument("--warmup", type=common.whole(0), default=2,
                       help="rounds before that, outside the window")
    group.add_argument("--concurrency", type=common.whole(1), default=1,
                       help="requests of a round")
    group.add_argument("--prompt-tokens", type=common.whole(1), default=512)
    group.add_argument("--new-tokens", type=common.whole(1), default=64)
    group.add_argument("--vocabulary", type=common.whole(FIRST_TOKEN + 1), default=32000,
                       help="prompts are drawn from the token ids below it")
    args = parser.parse_args(words[:split])
    args.server = words[split + 1:]
    if not args.server:
        raise WorkloadError("no server: serve.py [OPTION...] -- SERVER [ARGUMENT...]", USAGE)
    if common.operators_wanted():
        raise WorkloadError("a server has no operators pass; operators=off leaves it out", MISSING)
    return args


# ---- the run ----

def switch(args: argparse.Namespace, path: str, body: str) -> None:
    """Open or close the window, where the engine has an endpoint for it."""
    if not path:
        return
    status, said = args.url.ask("POST", path, body.encode() or None, args.answer_timeout)
    if status != 200:
        raise WorkloadError(f"the server answers {status} to {path}: {complaint_of(said)}; "
                            "nsys.capture_range=none captures the whole process instead")


def send_load(args: argparse.Namespace, load: Load) -> List[List[Answer]]:
    """Warm-up, then the rounds inside the window."""
    number = 0
    for _ in range(args.warmup):
        send_round(args.url, load, number, args.concurrency)
        number += args.concurrency
    switch(args, args.start_path, args.start_body)
    rounds = []
    for i in range(args.rounds):
        rounds.append(send_round(args.url, load, number, args.concurrency))
        number += args.concurrency
        print(show_round(i + 1, rounds[-1]), flush=True)
    switch(args, args.stop_path, "")
    return rounds


def profile(args: argparse.Namespace, server: Server) -> Dict[str, Any]:
    server.start()
    server.wait_until_ready(args.health, args.ready_timeout)
    try:
        load = Load(model=model_name(args.url), prompt_tokens=args.prompt_tokens,
                    new_tokens=args.new_tokens, vocabulary=args.vocabulary,
                    timeout=args.answer_timeout)
        rounds = send_load(args, load)
    except (OSError, http.client.HTTPException) as error:
        server.check_alive(DEATH)
        raise WorkloadError(f"the server broke off: {first_line(error)}") from error
    return metrics_of(args, load, rounds)


# ---- metrics.json ----

def show_round(number: int, answers: Sequence[Answer]) -> str:
    ttft = max(answer.ttft for answer in answers)
    tpots = [answer.tpot for answer in answers if answer.tpot is not None]
    tpot = f"{1e3 * sum(tpots) / len(tpots):.2f} ms" if tpots else "none"
    return f"round {number}: TTFT {1e3 * ttft:.2f} ms, TPOT {tpot}"


def mean_steps(answers: Sequence[Answer]) -> Optional[List[float]]:
    """Milliseconds of each step, means over the requests of a round."""
    lists = [answer.steps for answer in answers]
    if any(steps is None or len(steps) != len(lists[0] or []) for steps in lists):
        return None
    return [1e3 * sum(step) / len(step) for step in zip(*lists)]


def request_record(answer: Answer) -> Dict[str, Any]:
    return {
        "ttft_ms": 1e3 * answer.ttft,
        "tpot_ms": None if answer.tpot is None else 1e3 * answer.tpot,
        "ms": 1e3 * (answer.arrivals[-1] - answer.sent),
        "tokens": answer.tokens,
    }


def round_record(args: argparse.Namespace, index: int, answers: Sequence[Answer]) -> Dict[str, Any]:
    """A round as a repeat: prefill until all have their first token, decode after it."""
    begin = min(answer.sent for answer in answers)
    first = max(answer.arrivals[0] for answer in answers)
    last = max(answer.arrivals[-1] for answer in answers)
    tokens = sum(answer.tokens for answer in answers)
    stages = {"prefill": {"ms": 1e3 * (first - begin), "gpu_ms": None, "count": 1,
                          "tokens": len(answers) * args.prompt_tokens}}
    if tokens > len(answers):
        stages["decode"] = {
            "ms": 1e3 * (last - first), "gpu_ms": None, "count": 1,
            "tokens": tokens - len(answers),
            "steps": max(answer.tokens for answer in answers) - 1,
            "steps_ms": mean_steps(answers), "steps_gpu_ms": None}
    return {"index": index, "repeat": index, "tokens_per_s": tokens / (last - begin),
            "requests": [request_record(answer) for answer in answers], "stages": stages}


def weights_of(server: Sequence[str]) -> str:
    """vLLM and SGLang make weights up with --load-format dummy."""
    words = " ".join(server).replace("--load-format=", "--load-format ")
    return "random" if "--load-format dummy" in words else "checkpoint"


def metrics_of(args: argparse.Namespace, load: Load,
               rounds: Sequence[Sequence[Answer]]) -> Dict[str, Any]:
    return {
        "schema_version": common.SCHEMA_VERSION,
        "workload": "serve",
        "model": {"name": load.model, "weights": weights_of(args.server)},
        "options": {"warmup": args.warmup, "server": args.server[0]},
        "batch": args.concurrency,
        "prompt_tokens": args.prompt_tokens,
        "new_tokens": args.new_tokens,
        "repeats": [round_record(args, i + 1, answers) for i, answers in enumerate(rounds)],
    }


def main(argv: Sequence[str]) -> None:
    args = parse(argv)
    folder = common.output_folder()
    end_on_signals()
    server = Server(args.server, args.url, folder / "server.log" if folder else None)
    patience = HURRY
    try:
        metrics = profile(args, server)
        patience = args.stop_timeout
    finally:
        server.end(patience)
    if folder:
        common.write_json(folder / "metrics.json", metrics)


if __name__ == "__main__":
    sys.exit(common.run(main))
