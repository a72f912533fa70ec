"""What a load asks a server for, and when: prompts, lengths, arrivals."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import re
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from workload_common import USAGE, WorkloadError

# Token ids below this are special ones in most vocabularies.
FIRST_TOKEN = 256

# A length that is drawn is no longer than this many times what its text says.
LONGEST = 8

NUMBER = r"([0-9]+(?:\.[0-9]+)?)"


@dataclasses.dataclass
class Request:
    """One request: the ids or the text of its prompt."""

    prompt: Union[List[int], str]
    new_tokens: int

    @property
    def prompt_tokens(self) -> Optional[int]:
        """None for a text, which the server cuts into tokens."""
        return None if isinstance(self.prompt, str) else len(self.prompt)


# ---- lengths ----

class Lengths:
    """Numbers of tokens: "512" always; "uniform:256-1024"; "normal:512,64" (mean, standard
    deviation); "lognormal:512,0.5" (median, sigma of the logarithm); "exponential:512"
    (mean)."""

    FORMS = (
        (rf"{NUMBER}", lambda dice, a: a),
        (rf"uniform:{NUMBER}-{NUMBER}", lambda dice, a, b: dice.uniform(a, b)),
        (rf"normal:{NUMBER},{NUMBER}", lambda dice, a, b: dice.gauss(a, b)),
        (rf"lognormal:{NUMBER},{NUMBER}",
         lambda dice, a, b: math.exp(dice.gauss(math.log(a), b))),
        (rf"exponential:{NUMBER}", lambda dice, a: dice.expovariate(1 / a)),
    )

    def __init__(self, text: str):
        self.text = text
        for form, draw in self.FORMS:
            found = re.fullmatch(form, text)
            if found:
                numbers = [float(number) for number in found.groups()]
                if numbers[0] >= 1 and (not text.startswith("uniform") or numbers[1] >= numbers[0]):
                    self.numbers, self.draw_from = numbers, draw
                    return
        raise ValueError(f"'{text}': N, uniform:N-M, normal:MEAN,DEVIATION, "
                         "lognormal:MEDIAN,SIGMA or exponential:MEAN is expected")

    def draw(self, dice: random.Random) -> int:
        most = LONGEST * max(self.numbers[0], self.numbers[-1])
        drawn = self.draw_from(dice, *self.numbers)  # type: ignore[operator]
        return max(1, round(min(drawn, most)))


# ---- prompts ----

@dataclasses.dataclass
class Prompts:
    """Prompts of drawn token ids, that no cache has seen but for the prefixes: request i
    begins with prefix i % prefixes."""

    lengths: Lengths
    new_tokens: Lengths
    vocabulary: int
    prefix_tokens: int = 0
    prefixes: int = 1

    def ids(self, dice: random.Random, count: int) -> List[int]:
        return [dice.randrange(FIRST_TOKEN, self.vocabulary) for _ in range(count)]

    def parts(self, number: int) -> Tuple[List[int], List[int], int]:
        """The shared beginning of prompt `number`, its rest, and the length of its answer."""
        dice = random.Random(number)
        length = self.lengths.draw(dice)
        prefix: List[int] = []
        if self.prefix_tokens:
            shared = random.Random(f"prefix {number % self.prefixes}")
            prefix = self.ids(shared, self.prefix_tokens)
        rest = self.ids(dice, max(1, length - len(prefix)) if prefix else length)
        return prefix, rest, self.new_tokens.draw(dice)

    def request(self, number: int) -> Request:
        """Request `number`, the same whenever it is asked for."""
        prefix, rest, new_tokens = self.parts(number)
        return Request(prefix + rest, new_tokens)

    def again(self, number: int, later: int) -> Request:
        """One as long as request `number`, and as its answer, of other tokens: what has been
        cached of that one does not help. They are others for each `later`."""
        prefix, rest, new_tokens = self.parts(number)
        other = self.ids(random.Random(f"again {number} {later}"), len(rest))
        return Request(prefix + other, new_tokens)


# ---- a file of requests ----

PROMPTS = ("prompt", "text", "input")
PROMPT_LENGTHS = ("prompt_tokens", "input_length", "prompt_len")
ANSWER_LENGTHS = ("max_tokens", "output_tokens", "output_length", "output_len")


def first_of(entry: Dict[str, Any], names: Any) -> Any:
    return next((entry[name] for name in names if entry.get(name) not in (None, "")), None)


def spoken(entry: Dict[str, Any]) -> Optional[str]:
    """The first thing that a person says in a conversation of ShareGPT's form."""
    for turn in entry.get("conversations") or entry.get("messages") or []:
        if isinstance(turn, dict) and (turn.get("from") or turn.get("role")) in ("human", "user"):
            return turn.get("value") or turn.get("content")
    return None


def whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


class RequestFile:
    """Requests of a file: JSON a line, or a list. Each has a prompt (a text, ids, or how
    many tokens to draw) or a conversation, and may say how many tokens its answer has."""

    def __init__(self, path: Path, prompts: Prompts):
        self.path, self.prompts = path, prompts
        self.entries = list(self.read())
        if not self.entries:
            self.refuse("no request in it")

    def refuse(self, what: str) -> None:
        raise WorkloadError(f"load.file: {self.path}: {what}", USAGE)

    def read(self) -> Iterator[Dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.refuse(getattr(error, "strerror", None) or "no UTF-8")
        if text.lstrip().startswith("["):
            yield from self.checked("entry", enumerate(self.parse(text, "it"), 1))
        else:
            lines = ((number, self.parse(line, f"line {number}"))
                     for number, line in enumerate(text.splitlines(), 1) if line.strip())
            yield from self.checked("line", lines)

    def parse(self, text: str, where: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            self.refuse(f"{where} is no JSON")

    def checked(self, kind: str, entries: Any) -> Iterator[Dict[str, Any]]:
        for number, entry in entries:
            where = f"{kind} {number}"
            if not isinstance(entry, dict):
                self.refuse(f"{where} is no request")
            prompt, answer = self.prompt_of(entry), first_of(entry, ANSWER_LENGTHS)
            if not prompt or not isinstance(prompt, (str, list, int)) or prompt is True:
                self.refuse(f"{where} has no prompt")
            if isinstance(prompt, list) and not all(isinstance(i, int) for i in prompt):
                self.refuse(f"{where}: its prompt is no list of token ids")
            if isinstance(prompt, int) and prompt < 1 or answer and not whole_number(answer):
                self.refuse(f"{where}: a number of tokens that cannot be")
            yield {"prompt": prompt, "answer": answer}

    def prompt_of(self, entry: Dict[str, Any]) -> Any:
        return first_of(entry, PROMPTS) or spoken(entry) or first_of(entry, PROMPT_LENGTHS)

    def request(self, number: int) -> Request:
        """Request `number`; after the last one the first comes again."""
        entry, dice = self.entries[number % len(self.entries)], random.Random(number)
        prompt = entry["prompt"]
        if isinstance(prompt, int):
            prompt = self.prompts.ids(dice, prompt)
        return Request(prompt, entry["answer"] or self.prompts.new_tokens.draw(dice))

    def again(self, number: int, later: int) -> Request:
        """The like of request `number`: as many other tokens where its prompt is drawn; a
        text has no other of its length, and it is the one so many `later`."""
        length = self.entries[number % len(self.entries)]["prompt"]
        if not isinstance(length, int):
            return self.request(number + later)
        other = self.prompts.ids(random.Random(f"again {number} {later}"), length)
        return Request(other, self.request(number).new_tokens)


# ---- arrivals ----

def poisson(rate: float, count: int) -> List[float]:
    """Seconds from the first request to each: exponential pauses."""
    dice, at, times = random.Random(count), 0.0, []
    for _ in range(count):
        times.append(at)
        at += dice.expovariate(rate)
    return times


def constant(rate: float, count: int) -> List[float]:
    return [i / rate for i in range(count)]


ARRIVALS: Dict[str, Callable[[float, int], List[float]]] = {"poisson": poisson,
                                                            "constant": constant}
