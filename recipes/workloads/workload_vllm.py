"""What vLLM mixes into its workers where counters.eager_round=on."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable


def without_graph(answer: Any) -> Any:
    """A dispatcher's answer with another mode: (mode, batch) of vLLM's older runner, a dataclass
    of the newer one. Tokens stay padded, so that kernels have the same grids; requests must not
    be, as for graphs without attention."""
    if isinstance(answer, tuple):
        mode, batch = answer
        return type(mode).NONE, dataclasses.replace(batch, num_reqs=None)
    return dataclasses.replace(answer, cg_mode=type(answer.cg_mode).NONE, num_reqs=None)


def wrapped(dispatch: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: without_graph(dispatch(*args, **kwargs))


class Eager:
    """The server calls it by /collective_rpc."""

    model_runner: Any

    def llmprof_eager(self) -> None:
        """From now on kernels of compiled code are launched one by one. Which CUDA graph a batch
        runs in is what dispatchers say, of the model and of what drafts for it."""
        runner, count = self.model_runner, 0
        for owner in (runner, *(getattr(runner, name, None) for name in ("speculator", "drafter"))):
            for name, one in vars(owner).items() if owner else ():
                if "cudagraph" in name and hasattr(one, "dispatch"):
                    one.dispatch = wrapped(one.dispatch)
                    count += 1
        if count == 0:
            raise RuntimeError("this version of vLLM has no dispatcher of CUDA graphs")
