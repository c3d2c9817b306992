"""What is noted about the calls of a program while `suture check --compare` runs it: which entry of which frame served each.

Works in a child of program_runs.py: it puts another recorder in the place of check's.
"""

from __future__ import annotations

import json
import os
from typing import Any, ClassVar

import numpy as np

import suture
from suture import _api, _core
from suture.cli import _accuracy

_SHOWN = 60  # characters of an argument
_MOST_ELEMENTS = 8  # of a tuple
_PLAIN = (type(None), bool, int, float, complex, str, bytes, tuple, np.ndarray)  # of globals, others are code


def watch(what: str, descriptor: int) -> None:
    """`what`: "facts" writes them to the descriptor, call by call; "fresh" makes every outermost call compile anew."""
    if what == "fresh":
        _accuracy.Recorder = _Fresh  # type: ignore[misc]
        return
    _Noting.descriptor = descriptor
    _api.observers.append(_Noting.compiled.append)
    _accuracy.Recorder = _Noting  # type: ignore[misc]


class _Fresh(_accuracy.Recorder):
    def begin(self, *call: Any) -> bool:
        suture.reset()
        return super().begin(*call)


class _Noting(_accuracy.Recorder):
    """One line of JSON per call: function, number, arguments and plain globals as text, and the entries that served it:
    {"frame", "function", "kind", "line", "entry", "made_here", "guards"}."""

    descriptor = -1
    compiled: ClassVar[list[Any]] = []

    def begin(self, call: Any, key: Any, number: int, function: Any, arguments: tuple[Any, ...]) -> bool:
        code = function.__code__
        self._given = {name: _shown(value) for name, value in zip(code.co_varnames, arguments, strict=False)}
        found = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
        self._given |= {name: _shown(value) for name, value in found.items() if type(value) in _PLAIN}
        self._before = _entries()
        return super().begin(call, key, number, function, arguments)

    def take(self, key: Any, number: int, call: Any, given: Any) -> None:
        served = []
        for place, row in _entries().items():
            before = self._before.get(place)
            if before is None or row["hits"] > before["hits"]:
                served.append({**row, "made_here": before is None})
        facts = {"function": key.function, "number": number + 1, "arguments": self._given, "served": served}
        os.write(self.descriptor, json.dumps(facts).encode() + b"\n")
        super().take(key, number, call, given)


def _entries() -> dict[tuple[int, int], dict[str, Any]]:
    found = {}
    for compiled in _Noting.compiled:
        for frame in _core.status(compiled)["frames"]:
            of_frame = {name: frame[name] for name in ("frame", "function", "kind", "line")}
            for entry in frame["entries"]:
                row = {"entry": entry["number"], "hits": entry["hits"], "guards": entry["guards"]}
                found[frame["frame"], entry["number"]] = of_frame | row
    return found


def _shown(value: Any) -> str:
    """Runs nothing of the program: a __repr__ of its own could change what it does."""
    kind = type(value)
    if kind is np.ndarray:
        return f"{value.dtype}{list(value.shape)} strides {list(value.strides)}"
    if kind is tuple:
        rest = ", ..." if len(value) > _MOST_ELEMENTS else ""
        text = f"({', '.join(map(_shown, value[:_MOST_ELEMENTS]))}{rest})"
    elif kind in (str, bytes):
        text = repr(value[: _SHOWN + 1])
    elif kind is int:
        text = repr(value) if value.bit_length() < 4 * _SHOWN else hex(value)
    elif kind in _PLAIN or (issubclass(kind, np.generic) and kind.__module__ == "numpy"):
        text = repr(value)
    else:
        text = f"<{kind.__name__}>"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
