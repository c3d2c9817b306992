"""The oracle: CPython and NumPy beside us. Compares everything a user can see."""

from __future__ import annotations

import copy
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from suture import _core


def ulp_distance(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Distance in units in the last place between floats of one dtype; 0 where both are NaN, huge where only one is."""
    integer = {2: np.int16, 4: np.int32, 8: np.int64}[expected.dtype.itemsize]

    def ordered(x: np.ndarray) -> np.ndarray:
        bits = np.ascontiguousarray(x).view(integer).astype(object)
        lowest = int(np.iinfo(integer).min)
        return np.where(bits < 0, lowest - bits, bits)

    distance = np.abs(ordered(expected) - ordered(actual))
    both_nan, one_nan = np.isnan(expected) & np.isnan(actual), np.isnan(expected) ^ np.isnan(actual)
    return np.where(both_nan, 0, np.where(one_nan, 1 << 62, distance))


def assert_same_array(expected: np.ndarray, actual: np.ndarray, ulp: int = 0, zero_signs: bool = True) -> None:
    assert type(actual) is type(expected)
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    assert actual.strides == expected.strides, f"strides {actual.strides}, expected {expected.strides}"
    assert actual.flags.writeable == expected.flags.writeable
    assert (actual.base is None) == (expected.base is None), f"base {actual.base!r:.80}, expected {expected.base!r:.80}"
    if expected.dtype.kind == "f":
        distance = ulp_distance(expected, actual)
        worst = int(np.max(distance, initial=0))
        assert worst <= ulp, f"{worst} ULP apart, at most {ulp}: expected {expected!r:.300}, actual {actual!r:.300}"
        if zero_signs and ulp == 0:
            both_zero = (expected == 0) & (actual == 0)
            np.testing.assert_array_equal(np.signbit(expected[both_zero]), np.signbit(actual[both_zero]))
    else:
        np.testing.assert_array_equal(actual, expected)


def assert_same(expected: Any, actual: Any, ulp: int = 0) -> None:
    """Type, dtype, shape, strides, flags and values; containers element by element."""
    if isinstance(expected, np.ndarray):
        assert_same_array(expected, actual, ulp)
    elif isinstance(expected, np.generic):
        assert type(actual) is type(expected), f"{type(actual)}, expected {type(expected)}"
        assert_same_array(np.asarray(expected), np.asarray(actual), ulp)
    elif isinstance(expected, (tuple, list)):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for e, a in zip(expected, actual, strict=True):
            assert_same(e, a, ulp)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key in expected:
            assert_same(expected[key], actual[key], ulp)
    else:
        assert type(actual) is type(expected), f"{type(actual)}, expected {type(expected)}"
        assert actual == expected or (expected != expected and actual != actual)


def clone(value: Any) -> Any:
    """A copy with the same layout: strided, reversed, broadcast and read-only arrays stay so."""
    if not isinstance(value, np.ndarray):
        return copy.deepcopy(value)
    if value.base is None and (value.flags.c_contiguous or value.flags.f_contiguous):
        return value.copy(order="K")
    low = sum(min(0, (n - 1) * s) for n, s in zip(value.shape, value.strides, strict=True) if n)
    high = sum(max(0, (n - 1) * s) for n, s in zip(value.shape, value.strides, strict=True) if n) + value.itemsize
    memory = np.zeros(max(high - low, value.itemsize), np.uint8)
    result = np.ndarray(value.shape, value.dtype, memory, -low, value.strides)
    if value.size:
        whole = np.ndarray(value.shape, value.dtype, memory, -low, value.strides)
        for index in np.ndindex(value.shape):
            whole[index] = value[index]
    result.flags.writeable = value.flags.writeable
    return result


def run(function: Callable, arguments: tuple) -> tuple[str, Any, list[tuple[type, str]]]:
    """("value" or "error", result or (type, message), warnings)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kind, result = "value", function(*arguments)
        except Exception as error:
            kind, result = "error", (type(error), str(error))
    return kind, result, [(w.category, str(w.message)) for w in caught]


def run_with_places(function: Callable, arguments: tuple) -> tuple[str, Any, list[tuple[type, str, str, int]]]:
    """As `run`, with file and line of every warning; an exception comes as (type, args, frames below the call)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kind, result = "value", function(*arguments)
        except Exception as error:
            kind, result = "error", (type(error), error.args, user_frames(error))
    return kind, result, [(w.category, str(w.message), w.filename, w.lineno) for w in caught]


def user_frames(error: BaseException) -> list[tuple[str, int, str]]:
    """(file, line, function) from the called function inwards, up to the first frame of NumPy.

    A frame that broke is named after its new code, and what follows a break runs in a resume function one frame further in.
    """
    frames: list[tuple[str, int, str]] = []
    for frame in traceback.extract_tb(error.__traceback__)[1:]:
        if "/numpy/" in frame.filename:
            break
        name = re.sub(r"^__transformed_code_\d+_for_", "", frame.name)
        if name.startswith("__resume_at_"):
            name = frames.pop()[2]
        frames.append((frame.filename, frame.lineno or 0, name))
    return frames


def frames_compiled(compiled: Any) -> int:
    return sum(frame["compiles"] for frame in _core.status(compiled)["frames"])


def check(function: Callable, compiled: Callable, arguments: tuple, ulp: int = 0, calls: int = 2) -> Any:
    """Runs both sides `calls` times on equal arguments; results, mutated arguments, warnings and exceptions must agree."""
    result = None
    for _ in range(calls):
        ours, theirs = tuple(map(clone, arguments)), tuple(map(clone, arguments))
        expected_kind, expected, expected_warnings = run(function, theirs)
        actual_kind, actual, actual_warnings = run(compiled, ours)
        assert (actual_kind, expected_kind) == (expected_kind, expected_kind), (expected, actual)
        if expected_kind == "error":
            assert actual == expected
        else:
            assert_same(expected, actual, ulp)
        assert sorted(set(map(str, actual_warnings))) == sorted(set(map(str, expected_warnings)))
        for e, a in zip(theirs, ours, strict=True):
            assert_same(e, a, ulp)
        result = expected
    return result
