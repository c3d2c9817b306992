"""Random programs of control flow around array work, and what a user can see of one run of them.

`programs()` draws a module text with one function `f(x, n)` at some level of nesting (plain, closure, method, cells). Its body
nests if, for, while, try, with and match; the leaves are array work, writes into objects that existed before, prints, calls of
functions that capture cannot look into, and every way to leave a block. `observe` runs it and records result or exception (with
chain and user lines), output, and the objects it wrote.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import suture

FILE = "<control flow program>"

PROLOGUE = '''\
import numpy as np
import suture

LOG = []


class Box:
    def __init__(self):
        self.count = 0
        self.last = None


BOX = Box()
ITEMS = [1.0, 2.0, 3.0]


@suture.disable
def tick(label):
    LOG.append(("tick", label))
    return len(LOG) % 2 == 0


@suture.disable
def fail(label, when):
    LOG.append(("fail", label))
    if when:
        raise ValueError(f"failed at {label}")
    return 1.0


class Context:
    """Logs, and swallows exceptions of the given types."""

    def __init__(self, label, *swallows):
        self.label, self.swallows = label, swallows

    def __enter__(self):
        LOG.append(("enter", self.label))
        return self.label

    def __exit__(self, kind, value, trace):
        LOG.append(("exit", self.label, kind and kind.__name__))
        return kind is not None and issubclass(kind, self.swallows)

'''

WRAPPERS = {
    "plain": ("def f(x, n):", ""),
    "closure": ("def outer(bias, total):\n    def f(x, n):\n        nonlocal total", "f = outer(0.5, 0.0)"),
    "method": ("class Model:\n    scale = 2.0\n    def f(self, x, n):", "f = Model().f"),
    "cells": ("def f(x, n, *rest, k=3):\n    peek = lambda: (y, n)", ""),
}
EXTRA_LEAVES = {
    "plain": [],
    "closure": ["total = total + 1.0", "y = y + total * bias"],
    "method": ["y = y * self.scale", "self.scale = self.scale + 0.5"],
    "cells": ["y = peek()[0] + k", "LOG.append(peek()[1])"],
}
LEAVES = [
    "y = y * 2.0 + x",
    "y = np.maximum(y, x) - 0.5",
    "y = y / (x - 1.0)",
    "x[0] = x[0] + 1.0",
    "z = y + n",
    "y = y - z",
    "del z",
    "n += 1",
    "LOG.append(n)",
    "BOX.count += 1",
    "BOX.last = y",
    "ITEMS[0] = float(n)",
    "print('out', {label})",
    "tick({label})",
    "y = y * fail({label}, n == {small})",
    "y = y + fail({label}, False)",
    "pass",
]
LEAVING = ["return y", "return y, n", "return", "raise ValueError('raised {label}')", "raise KeyError({label})"]
IN_LOOP = ["break", "continue"]
CONDITIONS = [
    "n > {small}",
    "n % 2 == 0",
    "y.sum() > {small}",
    "x[0] > 0.0 and n < {small}",
    "tick({label})",
    "y.shape[0] > 3",
]
ITERABLES = ["range({small})", "range(n)", "x", "ITEMS", "enumerate(x)", "zip(x, ITEMS)", "range(70)"]
EXCEPTIONS = ["ValueError", "KeyError", "(ValueError, KeyError)", "Exception", "FloatingPointError", ""]
CONTEXTS = [
    "Context({label})",
    "Context({label}, ValueError)",
    "Context({label}, Exception)",
    "np.errstate(all='ignore')",
    "np.errstate(divide='raise', invalid='raise')",
    "np.errstate(over='ignore'), Context({label})",
]
PATTERNS = ["0", "1 | 2", "int() if n > {small}", "[a, b]", "_"]


class Writer:
    """Draws statements; every label is used once, so that a log says which statement ran."""

    def __init__(self, draw: Callable[[st.SearchStrategy], Any], wrapper: str) -> None:
        self.draw, self.wrapper = draw, wrapper
        self.lines: list[str] = []
        self.label = 0

    def text(self, choices: list[str]) -> str:
        self.label += 1
        return self.draw(st.sampled_from(choices)).format(label=self.label, small=self.draw(st.integers(0, 3)))

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def block(self, depth: int, budget: int, in_loop: bool) -> None:
        for _ in range(self.draw(st.integers(1, 3))):
            if self.statement(depth, budget, in_loop) == "leave":
                return

    def statement(self, depth: int, budget: int, in_loop: bool) -> str:
        kinds = ["leaf", "leaf", "leave"]
        if budget > 0:
            kinds += ["if", "for", "while", "try", "with", "match"]
        kind = self.draw(st.sampled_from(kinds))
        if kind == "leaf":
            self.put(depth, self.text(LEAVES + EXTRA_LEAVES[self.wrapper]))
        elif kind == "leave":
            self.put(depth, self.text(LEAVING + (IN_LOOP * 3 if in_loop else [])))
        else:
            getattr(self, kind + "_")(depth, budget - 1, in_loop)
        return kind

    def if_(self, depth: int, budget: int, in_loop: bool) -> None:
        self.put(depth, f"if {self.text(CONDITIONS)}:")
        self.block(depth + 1, budget, in_loop)
        if self.draw(st.booleans()):
            self.put(depth, "else:")
            self.block(depth + 1, budget, in_loop)

    def else_of_loop(self, depth: int, budget: int, in_loop: bool) -> None:
        if self.draw(st.integers(0, 2)) == 0:
            self.put(depth, "else:")
            self.block(depth + 1, budget, in_loop)

    def for_(self, depth: int, budget: int, in_loop: bool) -> None:
        self.put(depth, f"for item in {self.text(ITERABLES)}:")
        if self.draw(st.booleans()):
            self.put(depth + 1, "y = y + np.sum(item)")
        self.block(depth + 1, budget, True)
        self.else_of_loop(depth, budget, in_loop)

    def while_(self, depth: int, budget: int, in_loop: bool) -> None:
        self.label += 1
        counter = f"c{self.label}"
        self.put(depth, f"{counter} = 0")
        more = " and " + self.text(CONDITIONS) if self.draw(st.booleans()) else ""
        self.put(depth, f"while {counter} < {self.draw(st.integers(1, 3))}{more}:")
        self.put(depth + 1, f"{counter} += 1")
        self.block(depth + 1, budget, True)
        self.else_of_loop(depth, budget, in_loop)

    def try_(self, depth: int, budget: int, in_loop: bool) -> None:
        self.put(depth, "try:")
        self.block(depth + 1, budget, in_loop)
        handlers = self.draw(st.integers(0, 2))
        for number in range(handlers):
            kind = self.text(EXCEPTIONS[:-1] if number + 1 < handlers else EXCEPTIONS)
            named = kind and self.draw(st.booleans())
            self.put(depth, f"except {kind} as error:" if named else f"except {kind}:".replace(" :", ":"))
            self.put(depth + 1, f"LOG.append(('caught', {'str(error)' if named else self.label}))")
            if self.draw(st.integers(0, 3)) == 0:
                self.put(depth + 1, "raise")
            else:
                self.block(depth + 1, budget, in_loop)
        if handlers and self.draw(st.integers(0, 2)) == 0:
            self.put(depth, "else:")
            self.block(depth + 1, budget, in_loop)
        if not handlers or self.draw(st.integers(0, 2)) == 0:
            self.put(depth, "finally:")
            self.block(depth + 1, budget, in_loop)

    def with_(self, depth: int, budget: int, in_loop: bool) -> None:
        context = self.text(CONTEXTS)
        self.put(depth, f"with {context}:")
        self.block(depth + 1, budget, in_loop)

    def match_(self, depth: int, budget: int, in_loop: bool) -> None:
        subject = self.draw(st.sampled_from(["n", "[n, 2]", "(n, y)", "x.shape"]))
        self.put(depth, f"match {subject}:")
        chosen = self.draw(st.lists(st.sampled_from(PATTERNS[:-1]), min_size=1, max_size=2, unique=True))
        for pattern in [*chosen, *(["_"] if self.draw(st.booleans()) else [])]:
            self.put(depth + 1, f"case {pattern.format(small=1)}:")
            self.block(depth + 2, budget, in_loop)


@st.composite
def programs(draw: Callable[[st.SearchStrategy], Any], depth: int = 3) -> str:
    wrapper = draw(st.sampled_from(list(WRAPPERS)))
    head, foot = WRAPPERS[wrapper]
    indent = (len(head.splitlines()[-1]) - len(head.splitlines()[-1].lstrip())) // 4
    indent += head.splitlines()[-1].endswith(":")
    writer = Writer(draw, wrapper)
    writer.put(indent, "y = x * 1.5")
    if draw(st.booleans()):
        writer.put(indent, "z = x + 1.0")
    writer.block(indent, depth, False)
    writer.put(indent, "return y, n")
    if wrapper == "closure":
        foot = "    return f\n" + foot
    return PROLOGUE + head + "\n" + "\n".join(writer.lines) + "\n" + foot + "\n"


# Arguments of consecutive calls: other values, other branches, another size.
CALLS: list[tuple[list[float], int]] = [
    ([1.0, 2.0, 3.0], 0),
    ([1.0, 2.0, 3.0], 0),
    ([-1.0, -2.0, 0.5], 1),
    ([0.0, 0.0, 0.0], 2),
    ([1.0, 2.0, 3.0, 4.0, 5.0], 3),
    ([1.0, 2.0, 3.0], 0),
]


def user_lines(error: BaseException) -> int:
    """The line of the program that is blamed: the innermost one."""
    return [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.filename == FILE][-1]


def chain(error: BaseException | None) -> list[tuple]:
    out = []
    while error is not None and len(out) < 8:
        out.append((type(error), str(error), user_lines(error), error.__suppress_context__))
        error = error.__context__
    return out


def observe(source: str, compile: Callable[[Callable], Callable]) -> list[tuple]:
    """What a user sees of all calls, in order."""
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    namespace: dict[str, Any] = {"__name__": "control_flow_program"}
    exec(__import__("builtins").compile(source, FILE, "exec"), namespace)
    function = compile(namespace["f"])
    seen = []
    for values, n in CALLS:
        x, printed = np.array(values), io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result: Any = ("value", function(x, n))
            except Exception as error:
                result = ("error", chain(error))
        notes = sorted({(str(w.message), w.lineno) for w in caught if w.filename == FILE})
        box = namespace["BOX"]
        state = (list(namespace["LOG"]), box.count, box.last, list(namespace["ITEMS"]))
        seen.append((result, x, printed.getvalue(), notes, state))
        namespace["LOG"].clear()
    return seen


def compile_method(function: Callable) -> Callable:
    """suture.compile that also takes a bound method."""
    self = getattr(function, "__self__", None)
    if self is None:
        return suture.compile(function)
    return suture.compile(function.__func__).__get__(self)
