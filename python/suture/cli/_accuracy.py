"""Results of compiled calls beside those of the same calls under NumPy, for `suture check --compare`.

The compiled run saves what the first calls of every function are given and give (Recorder); the run under NumPy does the same
calls and compares (Comparer). Only outermost calls are seen, so that both runs see the same ones.

A call that comes to other arguments in the second run, because an earlier result was rounded differently, is repeated there
with the arguments of the first run, in a forked child, so that objects of the second run stay as they are. Files and sockets are
shared with the child: a function that writes to them writes twice.
Calls for which that cannot be done are counted with the reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suture._dump_run import BOUND, ulps
from suture._value_text import wrong_value
from suture.cli._call_record import (
    ArgumentReader,
    ArgumentWriter,
    ArrayStore,
    CannotCopy,
    Leaf,
    TooLarge,
    decode_leaves,
    digest_of,
    digests,
    encode_leaves,
    leaves,
    read_call,
    write_call,
)

CALLS = 32  # of one function
MEGABYTES = 256  # of all arrays that are kept
REPEAT_SECONDS = 60  # for one repeated call

TOO_MANY = f"more than {CALLS} calls of one function"
TOO_LARGE = f"arguments and results of more than {MEGABYTES} MiB"
NOT_MADE = "the second run did not make them"


class Key(NamedTuple):
    """A function, the same one in both runs."""

    function: str
    file: str
    line: int


class _Call:
    """One call: its arguments before, then what it gives: the result, and the arguments that it changed."""

    def __init__(self, owner: Watch, key: Key, number: int, arguments: tuple[Any, ...]) -> None:
        self._owner, self._key, self._number = owner, key, number
        self._arguments = [leaf for i, value in enumerate(arguments) for leaf in leaves(value, f"argument {i}")]
        self.before = digests(self._arguments)

    def done(self, result: Any, error: str) -> None:
        with self._owner.clock.stopped():
            self._owner.take(self._key, self._number, self, self.given(result, error))

    def given(self, result: Any, error: str) -> list[Leaf]:
        given = [("exception", error)] if error else leaves(result, "result")
        after = digests(self._arguments)
        return given + [leaf for leaf, a, b in zip(self._arguments, self.before, after, strict=True) if a != b]


class _Clock:
    """The time spent inside its blocks, of all threads, which is not the program's."""

    ms = 0.0

    @contextmanager
    def stopped(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.ms += (time.perf_counter() - start) * 1e3


class Watch:
    """The hook of _core.watch_calls."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.calls: dict[Key, int] = {}
        self.left_out: dict[Key, Counter[str]] = {}  # calls that are not compared, by the reason
        self.clock = _Clock()

    def __call__(self, function: Any, arguments: tuple[Any, ...]) -> _Call | None:
        with self.clock.stopped():
            code = function.__code__
            key = Key(function.__qualname__, code.co_filename, code.co_firstlineno)
            number = self.calls.get(key, 0)
            self.calls[key] = number + 1
            if not self.wanted(key, number):
                return None
            call = _Call(self, key, number, arguments)
            return call if self.begin(call, key, number, function, arguments) else None

    def path(self, key: Key, number: int) -> Path:
        name = hashlib.sha256(repr(key).encode()).hexdigest()
        return self.directory / f"{name}_{number}.json"

    def leave_out(self, key: Key, why: str, calls: int = 1) -> None:
        self.left_out.setdefault(key, Counter())[why] += calls

    def wanted(self, key: Key, number: int) -> bool:
        raise NotImplementedError

    def begin(self, call: _Call, key: Key, number: int, function: Any, arguments: tuple[Any, ...]) -> bool:
        """Before a call that is wanted; False: its end is of no interest."""
        raise NotImplementedError

    def take(self, key: Key, number: int, call: _Call, given: list[Leaf]) -> None:
        raise NotImplementedError


class Recorder(Watch):
    """Of the compiled run."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._store = ArrayStore(directory, MEGABYTES << 20)
        self._process = os.getpid()
        self._trees: dict[tuple[Key, int], dict[str, Any]] = {}

    def wanted(self, key: Key, number: int) -> bool:
        # A forked child makes calls of the same numbers; the run under NumPy tells those of its own process only.
        if os.getpid() != self._process:
            return False
        if number >= CALLS:
            self.leave_out(key, TOO_MANY)
        return number < CALLS

    def begin(self, call: _Call, key: Key, number: int, function: Any, arguments: tuple[Any, ...]) -> bool:
        writer = ArgumentWriter(self._store)
        try:
            kept: dict[str, Any] = {"arguments": [writer.write(value) for value in arguments]}
        except CannotCopy as problem:
            kept = {"why": f"other arguments in the second run, and {problem} cannot be copied"}
        except TooLarge:
            kept = {"why": f"other arguments in the second run, and {TOO_LARGE}"}
        self._trees[key, number] = kept
        return True

    def take(self, key: Key, number: int, call: _Call, given: list[Leaf]) -> None:
        kept = self._trees.pop((key, number))
        try:
            rows = encode_leaves(given, self._store)
        except TooLarge:
            return self.leave_out(key, TOO_LARGE)
        write_call(self.path(key, number), {"key": key, "before": call.before, "given": rows} | kept)


class Comparer(Watch):
    """Of the run under NumPy."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._store = ArrayStore(directory)
        self._rows: dict[Key, dict[str, Any]] = {}

    def wanted(self, key: Key, number: int) -> bool:
        return self.path(key, number).exists()

    def begin(self, call: _Call, key: Key, number: int, function: Any, arguments: tuple[Any, ...]) -> bool:
        record = read_call(self.path(key, number))
        if record["before"] == call.before:
            return True
        row = self._row(key)
        row["other_inputs"] += 1
        if "arguments" not in record:
            self.leave_out(key, record["why"])
            return False
        try:
            reader = ArgumentReader(self._store)
            owned = zip(record["arguments"], arguments, strict=True)
            copies = tuple(reader.read(tree, own) for tree, own in owned)
            found = in_child(lambda: self._repeat(function, copies, key, number, record))
        except CannotCopy as problem:
            self.leave_out(key, f"other arguments in the second run, and {problem}")
            return False
        row["repeated"] += 1
        _merge(row, found)
        return False

    def take(self, key: Key, number: int, call: _Call, given: list[Leaf]) -> None:
        recorded = decode_leaves(read_call(self.path(key, number))["given"], self._store)
        _merge(self._row(key), compared(number, given, recorded))

    def _repeat(self, function: Any, copies: tuple[Any, ...], key: Key, number: int, record: Any) -> dict[str, Any]:
        call = _Call(self, key, number, copies)
        try:
            given = call.given(call_bound(function, copies), "")
        except BaseException as error:
            given = call.given(None, type(error).__name__)
        return compared(number, given, decode_leaves(record["given"], self._store))

    def _row(self, key: Key) -> dict[str, Any]:
        return self._rows.setdefault(key, _new_row(key))

    def rows(self) -> list[dict[str, Any]]:
        """With the calls of the first run that this one never came to."""
        for path in self.directory.glob("*.json"):
            key, number = Key(*read_call(path)["key"]), int(path.stem.rpartition("_")[2])
            if number >= self.calls.get(key, 0):
                self._row(key)
                self.leave_out(key, NOT_MADE)
        return with_left_out(list(self._rows.values()), self)


def with_left_out(rows: list[dict[str, Any]], watch: Watch) -> list[dict[str, Any]]:
    """The rows, with what `watch` left out added; a function of which nothing was compared gets one."""
    by_key = {Key(row["function"], row["file"], row["line"]): row for row in rows}
    for key, reasons in watch.left_out.items():
        row = by_key.setdefault(key, _new_row(key))
        row["left_out"] += [{"why": why, "calls": calls} for why, calls in reasons.items()]
    return list(by_key.values())


def _new_row(key: Key) -> dict[str, Any]:
    counts: dict[str, Any] = {"compared": 0, "other_inputs": 0, "repeated": 0, "left_out": []}
    return {**key._asdict(), **counts, "ulp": 0.0, "bound": BOUND, "worst": "", "mismatch": ""}


def _merge(row: dict[str, Any], found: dict[str, Any]) -> None:
    row["compared"] += 1
    row["mismatch"] = row["mismatch"] or found["mismatch"]
    if found["ulp"] > row["ulp"]:
        row["ulp"], row["worst"] = found["ulp"], found["worst"]


def call_bound(function: Any, bound: tuple[Any, ...]) -> Any:
    """Calls a function with one value per parameter, in the order of its variables: *args is a tuple, **kwargs a dict."""
    code = function.__code__
    plain, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    rest = list(bound[named:])
    positional = bound[:plain] + (tuple(rest.pop(0)) if code.co_flags & 0x04 else ())  # CO_VARARGS
    keywords = dict(zip(code.co_varnames[plain:named], bound[plain:named], strict=True))
    return function(*positional, **keywords, **(rest.pop(0) if rest else {}))


def in_child(work: Any) -> dict[str, Any]:
    """The result of work() in a forked child; CannotCopy when there is none."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            from suture import _core

            _core.watch_calls(None)
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(json.dumps(work()).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writer)
    line = b""
    try:
        line = _line_of(reader, time.monotonic() + REPEAT_SECONDS)
    except TimeoutError:
        raise CannotCopy(f"it takes more than {REPEAT_SECONDS} s") from None
    finally:
        os.close(reader)
        if not line:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not line:
        raise CannotCopy("the call could not be repeated")
    return json.loads(line)


def _line_of(pipe: int, deadline: float) -> bytes:
    """Up to the end of the line; empty when the pipe ends before. TimeoutError at the deadline, however the rest trickles in.
    Nothing waits for the end of the pipe: what the call started may hold its other side open."""
    poll, read = select.poll(), bytearray()
    poll.register(pipe, select.POLLIN)
    while not read.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(max(1, left * 1e3)):
            raise TimeoutError
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            return b""
        read += chunk
    return bytes(read)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}{list(value.shape)}"
    return f"{type(value).__name__} {value!s:.60}"


def _difference(name: str, expected: Any, got: Any) -> str:
    """Of arrays of one kind the first element that differs."""
    arrays = isinstance(expected, np.ndarray) and isinstance(got, np.ndarray)
    index: tuple[Any, ...] = ()
    if arrays and expected.dtype == got.dtype and expected.shape == got.shape:
        same = [digest_of(a) == digest_of(b) for a, b in zip(expected.ravel(), got.ravel(), strict=True)]
        index = np.unravel_index(same.index(False), expected.shape)
        expected, got = expected[index], got[index]
    return wrong_value(name, _shown(got), _shown(expected), index)


def compared(number: int, numpy_gave: list[Leaf], suture_gave: list[Leaf]) -> dict[str, Any]:
    """Of one call: ulp, worst, mismatch."""
    found: dict[str, Any] = {"ulp": 0.0, "worst": "", "mismatch": ""}
    place = f"of call {number + 1}"
    if [name for name, _ in numpy_gave] != [name for name, _ in suture_gave]:
        return found | {"mismatch": f"Other values are returned or changed in place {place}."}
    for (name, expected), (_, got) in zip(numpy_gave, suture_gave, strict=True):
        distance = _distance(expected, got)
        if distance == float("inf"):
            return found | {"mismatch": f"In call {number + 1}, {_difference(name, expected, got)}."}
        if distance > found["ulp"]:
            found |= {"ulp": distance, "worst": f"{name} {place}"}
    return found


def _distance(expected: Any, got: Any) -> float:
    """In ULP; inf when they differ in more than rounding: signs of zeros, values of exact types, half of the digits."""
    if digest_of(expected) == digest_of(got):
        return 0.0
    numbers = (np.ndarray, np.generic, float)
    if not (isinstance(expected, numbers) and isinstance(got, numbers)):
        return float("inf")
    distance = ulps(expected, got)
    return distance if 0 < distance <= _most_ulps(np.asarray(expected).dtype) else float("inf")


def _most_ulps(dtype: np.dtype[Any]) -> float:
    return max(4 * BOUND, 2.0 ** (np.finfo(dtype).nmant // 2)) if dtype.kind in "fc" else 0.0
