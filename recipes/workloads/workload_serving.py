"""metrics.json of a load: rounds, requests at a rate, or those of another generator."""

from __future__ import annotations

import collections
from typing import Any, Dict, List, Optional, Sequence

from workload_client import Answer, Outcome

# A rate is not held when less than this share of the planned one was sent; requests of
# less than a second say nothing about it.
HELD, MEANT_S = 0.95, 1.0

Record = Dict[str, Any]


# ---- one request ----

def request_record(answer: Answer) -> Record:
    return {
        "ttft_ms": 1e3 * answer.ttft,
        "tpot_ms": None if answer.tpot is None else 1e3 * answer.tpot,
        "ms": 1e3 * (answer.arrivals[-1] - answer.sent),
        "tokens": answer.tokens,
        "sent_utc_ns": answer.sent_utc_ns,
        "steps_ms": answer.steps and [1e3 * step for step in answer.steps],
        **({"prompt_tokens": answer.prompt_tokens} if answer.prompt_tokens else {}),
    }


# ---- rounds ----

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


def round_record(index: int, answers: Sequence[Answer]) -> Record:
    """A round as a repeat: prefill until all have their first token, decode after it."""
    begin = min(answer.sent for answer in answers)
    first = max(answer.arrivals[0] for answer in answers)
    last = max(answer.arrivals[-1] for answer in answers)
    tokens = sum(answer.tokens for answer in answers)
    prompts = [answer.prompt_tokens for answer in answers if answer.prompt_tokens]
    stages: Record = {"prefill": {"ms": 1e3 * (first - begin), "gpu_ms": None, "count": 1,
                          "tokens": sum(prompts) if len(prompts) == len(answers) else None}}
    if tokens > len(answers):
        stages["decode"] = {
            "ms": 1e3 * (last - first), "gpu_ms": None, "count": 1,
            "tokens": tokens - len(answers),
            "steps": max(answer.tokens for answer in answers) - 1,
            "steps_ms": mean_steps(answers), "steps_gpu_ms": None}
    return {"index": index, "repeat": index, "tokens_per_s": tokens / (last - begin),
            "requests": [request_record(answer) for answer in answers], "stages": stages}


# ---- requests at a rate ----

def errors_of(outcomes: Sequence[Outcome]) -> List[Record]:
    """What failed, by its text, the most frequent first."""
    counted = collections.Counter(outcome.error for outcome in outcomes if outcome.error)
    return [{"text": text, "count": count} for text, count in counted.most_common()]


def per_second(count: int, seconds: float) -> Optional[float]:
    return count / seconds if count > 0 and seconds > 0 else None


def sending_rates(outcomes: Sequence[Outcome]) -> Record:
    """Requests per second from the first that was sent to the last: as planned, and held."""
    pauses = len(outcomes) - 1
    due = sorted(outcome.due for outcome in outcomes)
    sent = sorted(outcome.sent for outcome in outcomes)
    return {"planned_per_s": per_second(pauses, due[-1] - due[0]) if due else None,
            "held_per_s": per_second(pauses, sent[-1] - sent[0]) if sent else None}


def rate_record(outcomes: Sequence[Outcome], asked: Record) -> Record:
    """What became of all requests. asked: arrivals, rate_per_s, requests."""
    answers = [outcome.answer for outcome in outcomes if outcome.answer]
    record = {**asked, "completed": len(answers), "failed": len(outcomes) - len(answers),
              "errors": errors_of(outcomes), **sending_rates(outcomes)}
    if answers:
        begin = min(outcome.sent for outcome in outcomes)
        record["duration_s"] = max(answer.arrivals[-1] for answer in answers) - begin
    return record


def complaints_of(record: Record) -> List[str]:
    """What a person should know about a load, a line each."""
    lines = []
    planned, held = record.get("planned_per_s"), record.get("held_per_s")
    pauses = record["completed"] + record["failed"] - 1
    if planned and held and pauses >= MEANT_S * planned and held < HELD * planned:
        lines.append(f"load.rate={record['rate_per_s']:g} could not be held: {held:.3g} requests/s "
                     f"were sent of {planned:.3g} planned")
    unsent = record["requests"] - record["completed"] - record["failed"]
    if unsent > 0:
        lines.append(f"{unsent} of {record['requests']} requests were not sent: the server had "
                     "ended")
    for error in record["errors"][:3]:
        lines.append(f"{error['count']} of {record['requests']} requests failed: {error['text']}")
    return lines


def repeat_of(requests: Sequence[Record], duration_s: Optional[float]) -> Record:
    """All requests of a window as one repeat: they overlap, so that it has no stages."""
    tokens = sum(request["tokens"] for request in requests)
    return {"index": 1, "repeat": 1,
            "tokens_per_s": per_second(tokens, duration_s or 0),
            "requests": list(requests), "stages": {}}


# ---- what was asked for ----

def met(requests: Sequence[Record], ttft_ms: float, tpot_ms: float) -> int:
    """Requests within both limits; a limit of 0 is none, and one token has no TPOT."""
    return sum((not ttft_ms or request["ttft_ms"] <= ttft_ms)
               and (not tpot_ms or (request["tpot_ms"] or 0) <= tpot_ms)
               for request in requests)


def slo_record(requests: Sequence[Record], ttft_ms: float, tpot_ms: float) -> Optional[Record]:
    if not ttft_ms and not tpot_ms:
        return None
    return {"ttft_ms": ttft_ms or None, "tpot_ms": tpot_ms or None,
            "met": met(requests, ttft_ms, tpot_ms)}
