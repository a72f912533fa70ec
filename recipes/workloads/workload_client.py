"""A client of an OpenAI-compatible completions server, with a clock."""

from __future__ import annotations

import dataclasses
import http.client
import json
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from workload_common import WorkloadError, first_line
from workload_load import Request, whole_number
from workload_server import MOST, PAUSE, Endpoint, Response

# Bytes of a line of a stream; events of one for each token that was asked for, and beside
# them; the longest name of a model.
LINE, EVENTS_PER_TOKEN, MORE_EVENTS, NAME = 1 << 20, 4, 1000, 1000

# A server counts no more tokens than this.
MOST_TOKENS = 1 << 32

COMPLETIONS, MODELS = "/v1/completions", "/v1/models"


@dataclasses.dataclass
class Load:
    """What all requests have in common, and where each comes from."""

    model: str
    request: Callable[[int], Request]
    timeout: float  # seconds without a word from the server

    def body(self, request: Request) -> bytes:
        return json.dumps({
            "model": self.model, "prompt": request.prompt, "max_tokens": request.new_tokens,
            "temperature": 0, "ignore_eos": True, "stream": True,
            "stream_options": {"include_usage": True},
        }).encode()


@dataclasses.dataclass
class Answer:
    """Times of one request in s of time.perf_counter."""

    sent: float
    sent_utc_ns: int  # the same moment on the wall clock, since 1970
    arrivals: List[float]  # of each chunk that brought text
    tokens: int  # as the server counts them, else chunks
    prompt_tokens: Optional[int] = None  # the same; those that were sent, else

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
    except (ValueError, AttributeError, RecursionError):
        pass
    return " ".join(text.split())[:200] or "no reason given"


def model_name(endpoint: Endpoint, patience: float = 0) -> str:
    """The first model that the server has; one that has none yet has `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        status, body = endpoint.ask("GET", MODELS)
        try:
            models = json.loads(body)["data"] if status == 200 else None
            if models:
                return str(models[0]["id"])[:NAME]
        except (ValueError, LookupError, TypeError, RecursionError):
            models = None
        if models is None or time.monotonic() > deadline:
            break
        time.sleep(PAUSE)
    raise WorkloadError(f"the server answers {status} to {MODELS}, without a model: "
                        f"{complaint_of(body)}")


def lines_of(answer: Response, patience: float) -> Iterator[bytes]:
    """Lines of a stream. A comment is no word from the server."""
    while True:
        line = answer.readline(LINE)
        if not line:
            return
        if len(line) >= LINE:
            raise WorkloadError("the server streams a line without end")
        if line.startswith(b"data:"):
            answer.patient.give(patience)
            yield line


def events(answer: Response, patience: float, most: int) -> Iterator[Dict[str, Any]]:
    """The JSON of each server-sent event, up to [DONE]."""
    for number, line in enumerate(lines_of(answer, patience)):
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        if number > most:
            raise WorkloadError(f"the server does not stop: {most} events and no [DONE]")
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise WorkloadError(f"the server streams what is no JSON: {data[:80]!r}") from error
        if not isinstance(event, dict):
            raise WorkloadError(f"the server streams what is no event: {data[:80]!r}")
        if "error" in event:
            raise WorkloadError(f"the server gave up: {complaint_of(data)}")
        yield event
    raise ConnectionError("the stream ended without [DONE]")


def choice_of(event: Dict[str, Any]) -> Dict[str, Any]:
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def counted(event: Dict[str, Any], name: str) -> Optional[int]:
    """A number of tokens as the server counts them; None where it says none that can be."""
    usage = event.get("usage")
    count: Any = usage.get(name) if isinstance(usage, dict) else None
    return count if whole_number(count) and count <= MOST_TOKENS else None


def read_stream(answer: Response, sent: float, sent_utc_ns: int, patience: float,
                new_tokens: int) -> Answer:
    arrivals: List[float] = []
    tokens, prompt = None, None
    for event in events(answer, patience, EVENTS_PER_TOKEN * new_tokens + MORE_EVENTS):
        now = time.perf_counter()
        choice = choice_of(event)
        # the chunk with the reason may be empty; a token may be no text yet
        if choice and (choice.get("text") or choice.get("finish_reason") is None):
            arrivals.append(now)
        tokens = counted(event, "completion_tokens") or tokens
        prompt = counted(event, "prompt_tokens") or prompt
    if not arrivals:
        raise WorkloadError("the server answered without a token")
    return Answer(sent, sent_utc_ns, arrivals, tokens or len(arrivals), prompt)


def complete(endpoint: Endpoint, load: Load, request: Request) -> Answer:
    """Send one request and read its answer as it comes. OSError, HTTPException when
    the connection breaks."""
    body = load.body(request)
    connection = endpoint.connect(load.timeout, MOST + LINE * request.new_tokens)
    try:
        sent, sent_utc_ns = time.perf_counter(), time.time_ns()
        connection.request("POST", COMPLETIONS, body, {"Content-Type": "application/json"})
        answer: Any = connection.getresponse()
        if answer.status != 200:
            raise WorkloadError(f"the server answers {answer.status} to {COMPLETIONS}: "
                                f"{complaint_of(answer.read())}")
        made = read_stream(answer, sent, sent_utc_ns, load.timeout, request.new_tokens)
        made.prompt_tokens = made.prompt_tokens or request.prompt_tokens
        return made
    finally:
        connection.close()


def send_round(endpoint: Endpoint, load: Load, first: int, concurrency: int) -> List[Answer]:
    """That many requests at once, numbered from `first`; all of them answered."""
    answers: List[Any] = [None] * concurrency

    def work(i: int) -> None:
        try:
            answers[i] = complete(endpoint, load, load.request(first + i))
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


# ---- at a rate ----

@dataclasses.dataclass
class Outcome:
    """What became of a request that had a time of its own; s of time.perf_counter."""

    due: float
    sent: float
    answer: Optional[Answer] = None
    error: Optional[str] = None


def send_at(endpoint: Endpoint, load: Load, requests: Sequence[Request],
            offsets: Sequence[float], go_on: Callable[[], bool]) -> List[Outcome]:
    """Each request at its time, whatever became of those before; all that were sent are
    waited for. No more are when `go_on` says so."""
    outcomes: List[Outcome] = []
    threads = []

    def work(outcome: Outcome, request: Request) -> None:
        try:
            outcome.answer = complete(endpoint, load, request)
            outcome.sent = outcome.answer.sent
        except WorkloadError as error:
            outcome.error = str(error)
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError,
                AttributeError) as error:
            outcome.error = f"the server broke off: {first_line(error)}"

    begin = time.perf_counter()
    for request, offset in zip(requests, offsets):
        pause = begin + offset - time.perf_counter()
        if pause > 0:
            time.sleep(pause)
        if not go_on():
            break
        outcomes.append(Outcome(begin + offset, time.perf_counter()))
        threads.append(threading.Thread(target=work, args=(outcomes[-1], request), daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return outcomes
