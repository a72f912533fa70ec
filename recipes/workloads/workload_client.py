"""A client of an OpenAI-compatible completions server, with a clock."""

from __future__ import annotations

import dataclasses
import http.client
import json
import random
import threading
import time
from typing import Any, Dict, Iterator, List, Optional

from workload_common import WorkloadError
from workload_server import Endpoint

COMPLETIONS, MODELS = "/v1/completions", "/v1/models"

# Token ids below this are special ones in most vocabularies.
FIRST_TOKEN = 256


@dataclasses.dataclass
class Load:
    """What each request asks for."""

    model: str
    prompt_tokens: int
    new_tokens: int
    vocabulary: int
    timeout: float  # seconds without a word from the server

    def body(self, number: int) -> bytes:
        """Request `number`: a prompt of its own, so that no cache has seen it."""
        dice = random.Random(number)
        prompt = [dice.randrange(FIRST_TOKEN, self.vocabulary) for _ in range(self.prompt_tokens)]
        return json.dumps({
            "model": self.model, "prompt": prompt, "max_tokens": self.new_tokens,
            "temperature": 0, "ignore_eos": True, "stream": True,
            "stream_options": {"include_usage": True},
        }).encode()


@dataclasses.dataclass
class Answer:
    """Times of one request in s of time.perf_counter."""

    sent: float
    arrivals: List[float]  # of each chunk that brought text
    tokens: int  # as the server counts them, else chunks

    @property
    def ttft(self) -> float:
        return self.arrivals[0] - self.sent

    @property
    def tpot(self) -> Optional[float]:
        """Seconds per token after the first; None for one token."""
        if self.tokens < 2:
            return None
        return (self.arrivals[-1] - self.arrivals[0]) / (self.tokens - 1)

    @property
    def steps(self) -> Optional[List[float]]:
        """Seconds of each token after the first; None unless each came alone."""
        if len(self.arrivals) != self.tokens:
            return None
        return [b - a for a, b in zip(self.arrivals, self.arrivals[1:])]


def complaint_of(body: bytes) -> str:
    """An error's text in one line, JSON or not."""
    text = body.decode("utf-8", "replace")
    try:
        said = json.loads(text)
        inner = said.get("error", said)
        text = str(inner.get("message", text) if isinstance(inner, dict) else inner)
    except (ValueError, AttributeError):
        pass
    return " ".join(text.split())[:200] or "no reason given"


def model_name(endpoint: Endpoint) -> str:
    """The first model that the server has."""
    status, body = endpoint.ask("GET", MODELS)
    try:
        if status == 200:
            return str(json.loads(body)["data"][0]["id"])
    except (ValueError, LookupError, TypeError):
        pass
    raise WorkloadError(f"the server answers {status} to {MODELS}, without a model: "
                        f"{complaint_of(body)}")


def events(answer: http.client.HTTPResponse) -> Iterator[Dict[str, Any]]:
    """The JSON of each server-sent event, up to [DONE]."""
    for line in answer:
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        try:
            event = json.loads(data)
        except ValueError as error:
            raise WorkloadError(f"the server streams what is no JSON: {data[:80]!r}") from error
        if "error" in event:
            raise WorkloadError(f"the server gave up: {complaint_of(data)}")
        yield event
    raise ConnectionError("the stream ended without [DONE]")


def read_stream(answer: http.client.HTTPResponse, sent: float) -> Answer:
    arrivals, counted = [], None
    for event in events(answer):
        now = time.perf_counter()
        choices = event.get("choices") or []
        # the chunk with the reason may be empty; a token may be no text yet
        if choices and (choices[0].get("text") or choices[0].get("finish_reason") is None):
            arrivals.append(now)
        counted = (event.get("usage") or {}).get("completion_tokens", counted)
    if not arrivals:
        raise WorkloadError("the server answered without a token")
    return Answer(sent, arrivals, counted or len(arrivals))


def complete(endpoint: Endpoint, load: Load, number: int) -> Answer:
    """Send one request and read its answer as it comes. OSError, HTTPException when
    the connection breaks."""
    body = load.body(number)
    connection = endpoint.connect(load.timeout)
    try:
        sent = time.perf_counter()
        connection.request("POST", COMPLETIONS, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise WorkloadError(f"the server answers {answer.status} to {COMPLETIONS}: "
                                f"{complaint_of(answer.read())}")
        return read_stream(answer, sent)
    finally:
        connection.close()


def send_round(endpoint: Endpoint, load: Load, first: int, concurrency: int) -> List[Answer]:
    """That many requests at once, numbered from `first`; all of them answered."""
    answers: List[Any] = [None] * concurrency

    def work(i: int) -> None:
        try:
            answers[i] = complete(endpoint, load, first + i)
        except Exception as error:  # handed on to the thread that waits
            answers[i] = error

    threads = [threading.Thread(target=work, args=(i,), daemon=True)
               for i in range(concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers
