"""Decompiled text against its function by running both: the second level of proof, and only when the caller gives arguments.

Every call runs in a forked child of its own, which starts from what this process holds, so that neither side sees what the
other did. The first child runs the function and sends what came of the call; the second runs the text and compares: the result or
the exception, and the arguments as the call leaves them. What cannot be pickled cannot be compared.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import math
import os
import pickle
import resource
import select
import signal
import time
import types
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from suture._recompile import FUTURE_FLAGS
from suture._stepping import code_named, wrapped_in_function

SECONDS_PER_CALL = 10.0
_LARGEST_ANSWER = 64 << 20  # bytes
_MEMORY = 4 << 30  # bytes, beyond what this process has


def arguments_of(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Of a tuple of positional arguments, or of inspect.signature(f).bind(...)."""
    if isinstance(example, inspect.BoundArguments):
        return example.args, example.kwargs
    if isinstance(example, tuple):
        return example, {}
    raise TypeError(f"an example is a tuple of positional arguments or an inspect.BoundArguments, not {example!r}")


def function_of_text(function: types.FunctionType, source: str, constants: list[Any]) -> types.FunctionType:
    """The function that a text defines, with the globals, closure and defaults of the original. ValueError: there is none."""
    free = function.__code__.co_freevars
    try:
        tree = wrapped_in_function(ast.parse(source), free)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(tree, "<decompiled>", "exec", function.__code__.co_flags & FUTURE_FLAGS, True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ValueError(f"the text does not compile: {error}") from None
    code = code_named(module, function.__code__.co_name)
    if code is None or not set(code.co_freevars) <= set(free):
        raise ValueError("the text defines no such function")
    cells = dict(zip(free, function.__closure__ or (), strict=True))
    names = {**function.__globals__, "_K": constants} if constants else function.__globals__
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, names, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def first_difference(function: types.FunctionType, other: types.FunctionType, examples: Sequence[Any]) -> str:
    """Runs both on all examples; "" when nothing differs, else which call does and how."""
    for number, example in enumerate(examples, 1):
        args, kwargs = arguments_of(example)
        expected, problem = _in_child(partial(_outcome, function, args, kwargs))
        if not problem:
            answer, problem = _in_child(partial(_comparison, expected, other, args, kwargs))
            problem = problem or answer.decode()
        if problem:
            return f"call {number} of {len(examples)}: {problem}"
    return ""


# --- in the child -------------------------------------------------------------------------------------------------------


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    try:
        ending: tuple[Any, ...] = ("returned", function(*args, **kwargs))
    except BaseException as error:
        ending = ("raised", type(error), error.args)
    return pickle.dumps((ending, args, kwargs))


def _comparison(expected: bytes, other: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    got = _outcome(other, args, kwargs)
    return _difference(pickle.loads(expected), pickle.loads(got)).encode("utf-8", "backslashreplace")


def _difference(expected: Any, got: Any) -> str:
    for what, one, other in zip(("outcome", "arguments", "keyword arguments"), expected, got, strict=True):
        if not _same(one, other, set()):
            return f"another {what}: {_text(one)} from the function, {_text(other)} from the text"
    return ""


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def _same(a: Any, b: Any, seen: set[tuple[int, int]]) -> bool:
    if type(a) is not type(b):
        return False
    if (id(a), id(b)) in seen:
        return True
    seen.add((id(a), id(b)))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, complex):
        return _same(a.real, b.real, seen) and _same(a.imag, b.imag, seen)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(_same(x, y, seen) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return len(a) == len(b) and _same(list(a.items()), list(b.items()), seen)
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and _same(a.ravel().tolist(), b.ravel().tolist(), seen)
    if type(a).__eq__ is object.__eq__:  # equal when what it is made of is
        return pickle.dumps(a) == pickle.dumps(b) or _same(vars(a) if hasattr(a, "__dict__") else a, vars(b), seen)
    return bool(a == b)


# --- children -----------------------------------------------------------------------------------------------------------


def _in_child(work: Callable[[], bytes]) -> tuple[bytes, str]:
    """What `work` gives in a forked child, or why it gave nothing."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, writer)
    os.close(writer)
    try:
        answer = _read(reader, time.monotonic() + SECONDS_PER_CALL)
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if answer is None:
        return b"", f"no answer within {SECONDS_PER_CALL:.0f} s and {_LARGEST_ANSWER >> 20} MB"
    if not answer:
        return b"", "the process ended in the call"
    return (answer[1:], "") if answer[:1] == b"+" else (b"", answer[1:].decode("utf-8", "replace"))


def _child(work: Callable[[], bytes], writer: int) -> None:
    try:
        _limit()
        try:
            answer = b"+" + work()
        except BaseException as error:
            answer = f"-it cannot be compared: {type(error).__name__}: {error}".encode("utf-8", "backslashreplace")
        view = memoryview(answer)
        while view:
            view = view[os.write(writer, view) :]
    finally:
        os._exit(0)


def _limit() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seconds = math.ceil(SECONDS_PER_CALL)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))


def _read(reader: int, deadline: float) -> bytes | None:
    parts: list[bytes] = []
    size = 0
    while True:
        readable, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(reader, 1 << 20) if readable else None
        size += len(part or b"")
        if part is None or size > _LARGEST_ANSWER:
            return None
        if not part:
            return b"".join(parts)
        parts.append(part)
