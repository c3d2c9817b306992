"""Decompiled text against its function by running both: the second level of proof, and only when the caller gives arguments.

Every call runs in a forked child of its own, which starts from what this process holds, so that neither side sees what the
other did. The first child runs the function and sends what came of the call; the second runs the text and compares: the result or
the exception, and the arguments as the call leaves them: values, which places hold one object, strides of arrays and what memory they
share. What cannot be pickled cannot be compared.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
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
        if _is_of_memory(error):
            raise MemoryError(f"the call takes more than {_MEMORY >> 30} GiB") from None
        ending = ("raised", type(error), error.args)
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump((ending, args, kwargs))
    return pickle.dumps((file.getvalue(), pickler.layouts))


def _is_of_memory(error: BaseException | None) -> bool:
    """It, or what it was raised from: the limit may be that of the child, which says nothing about the function."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, MemoryError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


class _Pickler(pickle.Pickler):
    """Notes of every array, in the order of the pickle, what pickles do not keep: `layouts` has the number of the memory it is in,
    where in there it begins from the first array in it, its strides, and whether it can be written."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.layouts: list[tuple[int, int, tuple[int, ...], bool]] = []
        self._memories: dict[int, tuple[int, Any, int]] = {}  # by id: number, what it is of, first address

    def persistent_id(self, value: Any) -> None:
        if not isinstance(value, np.ndarray):
            return
        memory: Any = value
        while isinstance(memory, np.ndarray) and memory.base is not None:
            memory = memory.base
        address = value.__array_interface__["data"][0]
        number, _, first = self._memories.setdefault(id(memory), (len(self._memories), memory, address))
        self.layouts.append((number, address - first, value.strides, value.flags.writeable))


def _comparison(expected: bytes, other: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    got = _outcome(other, args, kwargs)
    (values, layouts), (other_values, other_layouts) = pickle.loads(expected), pickle.loads(got)
    difference = _difference(pickle.loads(values), pickle.loads(other_values))
    if not difference and layouts != other_layouts:
        difference = "equal arrays with other strides, or that share other memory"
    return difference.encode("utf-8", "backslashreplace")


def _difference(expected: Any, got: Any) -> str:
    pairs = _Pairs()
    for what, one, other in zip(("outcome", "arguments", "keyword arguments"), expected, got, strict=True):
        if not pairs.same(one, other):
            texts = _text(one), _text(other)
            if texts[0] == texts[1]:
                return f"another {what}: {texts[0]} from both, of other bits or with other objects at its places"
            return f"another {what}: {texts[0]} from the function, {texts[1]} from the text"
    return ""


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


class _Pairs:
    """Values of two sides, with what was found equal so far. An object that can change has one partner on the other side, so that two
    places with one object are two places with one object there. All that was looked at lives on: ids are of one object each."""

    def __init__(self) -> None:
        self._theirs: dict[int, Any] = {}  # by id of ours
        self._ours: dict[int, Any] = {}  # by id of theirs
        self._fixed: dict[tuple[int, int], tuple[Any, Any]] = {}  # that cannot change, but hold others

    def same(self, a: Any, b: Any) -> bool:
        if type(a) is not type(b):
            return False
        if a is b:
            return True
        if isinstance(a, _ATOMS):
            return _same_atom(a, b)
        if isinstance(a, tuple):
            known = (id(a), id(b)) in self._fixed
            self._fixed[id(a), id(b)] = a, b
            return known or (len(a) == len(b) and all(map(self.same, a, b)))
        if id(a) in self._theirs or id(b) in self._ours:
            return self._theirs.get(id(a)) is b and self._ours.get(id(b)) is a
        self._theirs[id(a)], self._ours[id(b)] = b, a
        return self._same_inside(a, b)

    def _same_inside(self, a: Any, b: Any) -> bool:
        if isinstance(a, list):
            return len(a) == len(b) and all(map(self.same, a, b))
        if isinstance(a, dict):
            return len(a) == len(b) and all(map(self.same, a.items(), b.items()))
        if isinstance(a, (set, frozenset)):
            return {(type(one), one) for one in a} == {(type(one), one) for one in b}
        if isinstance(a, np.ndarray):
            if a.dtype != b.dtype or a.shape != b.shape:
                return False
            return all(map(self.same, a.flat, b.flat)) if a.dtype == object else a.tobytes() == b.tobytes()
        if type(a).__eq__ is not object.__eq__:
            return bool(a == b)
        return self._same_parts(a.__reduce_ex__(4), b.__reduce_ex__(4))

    def _same_parts(self, a: Any, b: Any) -> bool:
        """Of what pickle makes two objects from: a name, or a callable, its arguments, a state, and elements to iterate over."""
        if isinstance(a, str) or isinstance(b, str):
            return bool(a == b)
        one, other = ((*parts[:3], *(each and list(each) for each in parts[3:5]), *parts[5:]) for parts in (a, b))
        return self.same(one, other)


_ATOMS = (int, float, complex, str, bytes, np.generic)


def _same_atom(a: Any, b: Any) -> bool:
    if isinstance(a, complex):
        return _same_atom(a.real, b.real) and _same_atom(a.imag, b.imag)
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
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
