"""Warnings of a call, as texts that can be compared, while the program gets them as if nobody had listened.

    with Heard() as heard:
        outputs = compiled(*inputs)
    heard.texts                      those that the program's filters let through
    heard.hears(category, ...)

What the program ignores is given to nobody; what its filters turn into an exception is raised where it is given. The others are
given again when the call is over, at their places. What the filters show once only may be shown once more after each call: to
listen makes Python forget what it has shown.

Python keeps what listens to warnings for the whole process: with other threads in it, nobody could tell whose a warning is, and
two who listen would take away each other's. Then nobody listens, and `texts` is None.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from suture._minify import plain_text
from suture._startup import warn_at


def text_of(warning: warnings.WarningMessage) -> str:
    return f"{warning.category.__name__}: {plain_text.of_exception(warning.message)}"


def texts_of(given: Sequence[warnings.WarningMessage]) -> list[str]:
    """Each once: how often and in which order a warning comes is no promise."""
    return sorted({text_of(warning) for warning in given})


def listen_always(keep: Sequence[str]) -> None:
    """Inside catch_warnings(record=True): every warning is recorded but where the filters say one of `keep`."""
    warnings.filters[:] = [  # type: ignore[index]
        (action if action in keep else "always", *rest) for action, *rest in warnings.filters
    ]
    warnings.simplefilter("always", append=True)


class Heard:
    """The warnings of a block."""

    def __init__(self) -> None:
        self._catch: warnings.catch_warnings[Any] | None = None
        self.texts: list[str] | None = None

    def __enter__(self) -> Heard:
        if threading.active_count() > 1:
            return self
        self._catch = warnings.catch_warnings(record=True)
        self._given: Any = self._catch.__enter__()
        listen_always(keep=("ignore", "error"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._catch is None:
            return
        self._catch.__exit__(kind, error, trace)
        self.texts = texts_of(self._given)
        for warning in self._given:
            warn_at(warning.message, warning.category, warning.filename, warning.lineno, source=warning.source)
