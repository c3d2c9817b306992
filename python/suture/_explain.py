"""suture.explain: what was compiled, what was not, and why - from recorded events, never from guesses.

suture.explain(f)(x, 3)     runs f once through a compiled callable of its own; caches of the process stay untouched.
                            The function really runs: what it prints or writes happens.
suture.explain(compiled)    explains what has been recorded so far, without running anything. The result can be called
                            like the form above.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MethodType
from typing import Any

from suture import _core, _toolbox
from suture._api import compile
from suture._config import config
from suture._events import source_line


def explain(fn: Callable[..., Any], **settings: Any) -> Any:
    """What was compiled, what was not, and why.

    suture.explain(f)(x, 3)    runs f once with these arguments, compiled anew, and returns the Explanation; what f prints
                               or writes happens, what is compiled already stays as it is
    suture.explain(compiled)   an Explanation of what a compiled function did so far, from its records; nothing runs

    fn        a function, a method, or what suture.compile returned
    settings  those of suture.compile, for the run: suture.explain(f, dynamic=True)(x, 3)

    Raises TypeError at once when `fn` is no function; the run raises what f raises.
    """
    function, receiver = _without_binding(fn)
    if not callable(function):
        raise TypeError(
            f"suture.explain takes a function or what suture.compile returned, not {type(fn).__name__}: {fn!r:.80}; "
            "the arguments of a call come after it, as in suture.explain(f)(x, 3)"
        )
    if not _core.is_compiled(function):
        return _Explainer(fn, settings)
    explanation = Explanation.of(function)
    explanation._receiver = receiver
    return explanation._fresh_run(settings) if settings else explanation


def _without_binding(fn: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a method or a staticmethod or classmethod object is made of, and the arguments it puts before those of a call."""
    if isinstance(fn, MethodType):
        return fn.__func__, (fn.__self__,)
    return (fn.__func__ if isinstance(fn, (staticmethod, classmethod)) else fn), ()


class _Explainer:
    """Waits for the arguments."""

    def __init__(self, fn: Callable[..., Any], settings: dict[str, Any]) -> None:
        self._fn, self._settings = fn, settings

    def __call__(self, *args: Any, **kwargs: Any) -> Explanation:
        private = compile(self._fn, **self._settings)
        target = getattr(private, "__func__", private)  # a bound method carries the compiled function inside
        _core.profile(True)  # hints have measured costs
        try:
            private(*args, **kwargs)
        finally:
            _core.profile(False)
        return Explanation.of(target)

    def __repr__(self) -> str:
        return f"<suture.explain({getattr(self._fn, '__qualname__', self._fn)!s}): call it with example arguments>"


def _fresh_settings(compiled: Any) -> dict[str, Any]:
    settings = dict(_core.settings(compiled))
    backend = settings.pop("backend_callable", None)
    if backend is not None:
        settings["backend"] = backend
    settings["options"] = config.values(settings["options"])
    # Under fullgraph the first break would end the run instead of being counted.
    settings["fullgraph"] = False
    return settings


class Explanation:
    """The explanation of one callable. Attributes hold plain lists and dicts, the same as to_dict()."""

    def __init__(self, lines: list[str], status: dict[str, Any] | None, compiled: Any = None) -> None:
        self._lines = lines
        self._status = json.dumps(status) if status else ""
        self._compiled = compiled
        self._receiver: tuple[Any, ...] = ()  # of a bound method
        self._data: dict[str, Any] = json.loads(_toolbox.explain_json(lines, self._status, source_line))

    @classmethod
    def of(cls, compiled: Any) -> Explanation:
        """From the records of a compiled callable."""
        return cls(_core.explain_records(compiled), dict(_core.status(compiled)), compiled)

    def __call__(self, *args: Any, **kwargs: Any) -> Explanation:
        """A fresh run of the same function with the same settings."""
        if self._compiled is None:
            raise TypeError("this explanation was made from records and has no function to run")
        return self._fresh_run({})(*args, **kwargs)

    def _fresh_run(self, changes: dict[str, Any]) -> _Explainer:
        function = _core.wrapped(self._compiled)
        settings = _fresh_settings(self._compiled) | changes
        return _Explainer(MethodType(function, *self._receiver) if self._receiver else function, settings)

    @property
    def graphs(self) -> list[dict[str, Any]]:
        """The newest graph of every frame: name, function, ops with lines, code (runnable NumPy), text."""
        return self._data["graphs"]

    @property
    def graph_count(self) -> int:
        return self._data["graph_count"]

    @property
    def graph_break_count(self) -> int:
        """Places where a graph was broken; not the number of graphs minus one."""
        return self._data["graph_break_count"]

    @property
    def op_count(self) -> int:
        """Every op of every graph, methods and operators included."""
        return self._data["op_count"]

    @property
    def break_reasons(self) -> list[dict[str, Any]]:
        """reason, reason_id, explanation, hints, file, line, column, source, hits (compiles), crossings (calls), effects (what
        it does beyond its place, as to the loop around it)."""
        return self._data["break_reasons"]

    @property
    def ops_per_graph(self) -> list[list[str]]:
        return self._data["ops_per_graph"]

    @property
    def guards(self) -> list[dict[str, Any]]:
        """check (Python text), source, kind, place (file:line that made it), tested and failures (calls), ns (of one test)."""
        return self._data["guards"]

    @property
    def recompiles(self) -> list[dict[str, Any]]:
        return self._data["recompiles"]

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """name, signature, path of the C++ file, ops, user lines."""
        return self._data["kernels"]

    @property
    def perf_hints(self) -> list[dict[str, Any]]:
        """id, title, file, line, sentence, why, evidence, advice, bytes, cost_ms (per call; 0: not measured, as in
        explanations made from records of calls that nobody watched)."""
        return self._data["perf_hints"]

    @property
    def compile_times(self) -> dict[str, Any]:
        """total_ms, phases, frames"""
        return self._data["compile_times"]

    @property
    def skipped(self) -> list[dict[str, Any]]:
        """Functions that run in the interpreter, and why."""
        return self._data["skipped"]

    def to_dict(self) -> dict[str, Any]:
        return json.loads(self.to_json())

    def to_json(self, indent: int | None = None) -> str:
        """Schema suture.explain/1: schemas/explain_1.json, docs/reference/explain_json.md."""
        return json.dumps(self._data, indent=indent)

    def __str__(self) -> str:
        return _toolbox.explain_text(self._lines, self._status, source_line)

    def __repr__(self) -> str:
        return (
            f"<suture.Explanation of {self._data.get('function', '?')}: {self.graph_count} graphs, "
            f"{self.graph_break_count} graph breaks, {self.op_count} ops>"
        )

    def _repr_html_(self) -> str:
        """Static HTML for notebooks: works with scripts stripped; everything that comes from a program is escaped."""
        from suture._explain_html import to_html

        return to_html(self._data)
