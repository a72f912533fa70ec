"""An engine's own numbers: its Prometheus page, read once a second."""

from __future__ import annotations

import http.client
import math
import re
import socket
import statistics
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from workload_server import Endpoint, TooMuch

# Between two looks, for one, s; and the most of a page that is read.
PERIOD, PATIENCE, MOST = 1.0, 2.0, 8 << 20

LINE = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{.*\})?\s+(\S+)(?:\s+-?\d+)?\s*$")

# What each number is called, and how those of several workers are one.
FIGURES: Dict[str, Callable[[List[float]], float]] = {
    "running": sum, "waiting": sum, "preemptions": sum, "prefix_queries": sum,
    "prefix_hits": sum, "verifications": sum, "drafted": sum, "accepted": sum,
    "kv_use": max, "prefix_hit_share": max, "acceptance": statistics.fmean,
    "accept_length": statistics.fmean,
    "ttft_s": sum, "ttft_count": sum, "queue_s": sum, "queue_count": sum,
    "prefill_s": sum, "prefill_count": sum,
}


class PageError(Exception):
    """Why a page could not be read, in a few words."""


def fetch(endpoint: Endpoint, path: str) -> str:
    """The page; a connection that trickles is given up, too."""
    connection = endpoint.connect(PATIENCE, MOST)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != 200:
            raise PageError(f"{path} answers {answer.status}")
        return answer.read().decode("utf-8", "replace")
    except TooMuch as error:
        raise PageError(f"{path} is larger than {MOST >> 20} MiB") from error
    except socket.timeout as error:
        raise PageError(f"{path} does not end") from error
    except (OSError, http.client.HTTPException) as error:
        raise PageError(f"{path}: {type(error).__name__}") from error
    finally:
        connection.close()


def numbers_of(page: str) -> Dict[str, List[float]]:
    """Values by name, over all labels; without those that are no numbers."""
    found: Dict[str, List[float]] = {}
    for line in page.splitlines():
        match = None if line.startswith("#") else LINE.match(line)
        if match:
            try:
                value = float(match.group(2))
            except ValueError:
                continue
            if math.isfinite(value) and value >= 0:
                found.setdefault(match.group(1), []).append(value)
    return found


def figures_of(page: str, names: Dict[str, List[str]]) -> Dict[str, float]:
    """Our figures: of each the first of its names that the page has."""
    found, figures = numbers_of(page), {}
    for figure, candidates in names.items():
        values = next((found[name] for name in candidates if name in found), None)
        value = FIGURES[figure](values) if values else math.nan
        if math.isfinite(value):
            figures[figure] = value
    return figures


def parse_names(words: List[str]) -> Dict[str, List[str]]:
    """FIGURE=NAME words. ValueError for a figure that is none."""
    names: Dict[str, List[str]] = {}
    for word in words:
        figure, _, name = word.partition("=")
        if figure not in FIGURES or not name:
            raise ValueError(f"'{word}': FIGURE=NAME is expected, with {', '.join(FIGURES)}")
        names.setdefault(figure, []).append(name)
    return names


class Scraper:
    """Looks before, once a second during, and after some time."""

    def __init__(self, endpoint: Endpoint, path: str, names: Dict[str, List[str]]):
        self.endpoint, self.path, self.names = endpoint, path, names
        self.samples: List[Dict[str, Any]] = []
        self.failed = 0
        self.complaint: Optional[str] = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def look(self) -> None:
        try:
            figures = figures_of(fetch(self.endpoint, self.path), self.names)
        except PageError as error:
            self.failed += 1
            self.complaint = self.complaint or str(error)
            return
        if figures:
            self.samples.append({"utc_ns": time.time_ns(), **figures})
        else:
            self.complaint = self.complaint or f"{self.path} has none of the engine's names"

    def watch(self) -> None:
        while not self.over.wait(PERIOD):
            self.look()

    def __enter__(self) -> Scraper:
        if self.path:
            self.look()
            self.thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.path:
            self.over.set()
            self.thread.join(2 * PATIENCE)
            self.look()

    def record(self) -> Optional[Dict[str, Any]]:
        """For metrics.json; None where nobody asked."""
        if not self.path:
            return None
        return {"path": self.path, "samples": self.samples, "failed": self.failed,
                "complaint": self.complaint}
