"""What a recompile record advises, applied to the program: each situation stands here twice, as it was written and as it was
edited after the advice. The same sequence of calls then recompiles as often as was promised, and has the results of NumPy."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import assert_same

Program = Callable[[Callable[..., Any]], list[Any]]  # given suture.compile, or something that compiles nothing


def plainly(function=None, **settings):
    return function if function is not None else lambda f: f


@contextmanager
def watched():
    """Fields of the recompile events, and one name per compile."""
    recompiles, frames = [], []

    def see(line):
        event = json.loads(line)
        (recompiles if event["event"] == "recompile" else frames).append(event["fields"])

    token = _core.subscribe(["recompile", "frame_done"], see)
    try:
        yield recompiles, frames
    finally:
        _core.unsubscribe(token)


@dataclasses.dataclass
class Situation:
    before: Program
    advice: str  # that some recompile of `before` gives
    after: Program
    recompiles: int  # of `before`
    frames: int  # compiles of `before` that give an entry
    left: int = 0  # recompiles of `after`, as promised
    frames_after: int = 1
    said: str = ""  # in the sentence of the guard that failed


SITUATIONS: dict[str, Situation] = {}


def situation(name, **facts):
    """The two programs are functions `before` and `after` of a class body."""

    def add(body):
        SITUATIONS[name] = Situation(before=body.before, after=body.after, **facts)
        return body

    return add


FROM_NOW_ON = " (from now on it is a symbol; the action saves this one compile)"
FEW = "nothing to do when the objects are few and kept: each has an entry of its own"


def double(x):
    return x * 2 + 1


def scale(x, n):
    return x * n


# --- sizes ---------------------------------------------------------------------------------------------------------------


@situation("size", advice="`suture.mark_dynamic(x, 0)` before the first call" + FROM_NOW_ON, recompiles=1, frames=2)
class _:
    def before(compile):
        f = compile(double)
        return [f(np.ones(n)) for n in (5, 6, 9)]

    def after(compile):
        f, results = compile(double), []
        for n in (5, 6, 9):
            x = np.ones(n)
            suture.mark_dynamic(x, 0)
            results.append(f(x))
        return results


@situation(
    "size that was marked static",
    advice="`suture.mark_dynamic(x, 0)` in place of `suture.mark_static(x, 0)`",
    recompiles=2,
    frames=3,
)
class _:
    def before(compile):
        f, results = compile(double), []
        for n in (5, 6, 9):
            x = np.ones(n)
            suture.mark_static(x, 0)
            results.append(f(x))
        return results

    def after(compile):
        f, results = compile(double), []
        for n in (5, 6, 9):
            x = np.ones(n)
            suture.mark_dynamic(x, 0)
            results.append(f(x))
        return results


@situation(
    "size that decides a branch",
    advice="nothing to do when the values of `x.shape[0]` are few: it decides what is compiled, and each outcome has an entry of "
    "its own",
    recompiles=1,
    frames=2,
    left=0,
    frames_after=2,
)
class _:
    """Few outcomes: a program that separates them itself has none that compiles again."""

    def before(compile):
        f = compile(lambda x: x * 2 if x.shape[0] > 10 else x * 3)
        return [f(np.ones(n)) for n in (5, 50, 5, 50)]

    def after(compile):
        long, short = compile(lambda x: x * 2), compile(lambda x: x * 3)
        return [(long if n > 10 else short)(np.ones(n)) for n in (5, 50, 5, 50)]


@situation(
    "sizes that must agree",
    advice="`suture.mark_dynamic(x, 0)` before the first call; `suture.mark_dynamic(y, 0)` before the first call"
    + FROM_NOW_ON,
    recompiles=1,
    frames=2,
)
class _:
    def before(compile):
        f = compile(lambda x, y: x + y)
        return [f(np.ones(n), np.ones(n)) for n in (5, 6, 7)]

    def after(compile):
        f, results = compile(lambda x, y: x + y), []
        for n in (5, 6, 7):
            x, y = np.ones(n), np.ones(n)
            suture.mark_dynamic(x, 0)
            suture.mark_dynamic(y, 0)
            results.append(f(x, y))
        return results


@situation("size and int", advice="compile with `dynamic=True`" + FROM_NOW_ON, recompiles=1, frames=2)
class _:
    def before(compile):
        f = compile(scale)
        return [f(np.ones(n), n) for n in (5, 6, 7)]

    def after(compile):
        f = compile(scale, dynamic=True)
        return [f(np.ones(n), n) for n in (5, 6, 7)]


@situation(
    "size of a global",
    advice="compile with `dynamic=True`" + FROM_NOW_ON,
    recompiles=1,
    frames=2,
)
class _:
    def before(compile, **settings):
        space = {"np": np, "TABLE": np.ones(3)}
        exec("def f(x): return x * TABLE.sum()", space)
        f, results = compile(space["f"], **settings), []
        for n in (3, 4, 5):
            space["TABLE"] = np.ones(n)
            results.append(f(np.ones(2)))
        return results

    def after(compile):
        return SITUATIONS["size of a global"].before(compile, dynamic=True)


# --- layouts, several guards at once ------------------------------------------------------------------------------------


def laid_out():
    return [np.ones((4, 6)), np.ones((6, 4)).T, np.ones((8, 12))[::2, ::2], np.ones((4, 6))]


@situation("layouts of three kinds", advice="`x = np.ascontiguousarray(x)` before the call", recompiles=2, frames=3)
class _:
    """The second entry holds Fortran order; advice for it would contradict that for the first."""

    def before(compile):
        f = compile(lambda x: (x * 2).sum(axis=0))
        return [f(x) for x in laid_out()]

    def after(compile):
        f, results = compile(lambda x: (x * 2).sum(axis=0)), []
        for x in laid_out():
            x = np.ascontiguousarray(x)
            results.append(f(x))
        return results


@situation(
    "Fortran order first", advice="`x = np.asfortranarray(x)` before the call", recompiles=2, frames=3, frames_after=1
)
class _:
    def before(compile):
        f = compile(lambda x: (x * 2).max(axis=0))
        return [f(x) for x in laid_out()[1:]]

    def after(compile):
        f, results = compile(lambda x: (x * 2).max(axis=0)), []
        for x in laid_out()[1:]:
            x = np.asfortranarray(x)
            results.append(f(x))
        return results


@situation(
    "layout and sizes",
    advice="`x = np.ascontiguousarray(x)` before the call; `suture.mark_dynamic(x, 0)` before the first call; "
    "`suture.mark_dynamic(x, 1)` before the first call" + FROM_NOW_ON,
    recompiles=1,
    frames=2,
)
class _:
    """The copy first: a mark belongs to one array."""

    def before(compile):
        f = compile(lambda x: (x * 2).sum(axis=0))
        return [f(x) for x in (np.ones((4, 6)), np.ones((8, 5)).T)]

    def after(compile):
        f, results = compile(lambda x: (x * 2).sum(axis=0)), []
        for x in (np.ones((4, 6)), np.ones((8, 5)).T):
            x = np.ascontiguousarray(x)
            suture.mark_dynamic(x, 0)
            suture.mark_dynamic(x, 1)
            results.append(f(x))
        return results


@situation("layout of what is written", advice="give `x` one memory layout, c_contiguous", recompiles=1, frames=2)
class _:
    """A copy would take the store away from the caller's array."""

    def before(compile, order="F"):
        def bump(x):
            x += 1

        f = compile(bump)
        arrays = [np.zeros((4, 6)), np.zeros((4, 6), order=order)]
        for x in arrays:
            f(x)
        return [x.tolist() for x in arrays]

    def after(compile):
        return SITUATIONS["layout of what is written"].before(compile, order="C")


# --- ints -----------------------------------------------------------------------------------------------------------------


@situation("int", advice="compile with `dynamic=True`" + FROM_NOW_ON, recompiles=1, frames=2)
class _:
    def before(compile):
        f = compile(scale)
        return [f(np.ones(3), n) for n in (3, 4, 5)]

    def after(compile):
        f = compile(scale, dynamic=True)
        return [f(np.ones(3), n) for n in (3, 4, 5)]


def above_three(x, n):
    return x * 2 if n > 3 else x * 3


@situation(
    "int that decides a branch",
    advice="nothing to do when the values of `n` are few: it decides what is compiled, and each outcome has an entry of its own",
    recompiles=1,
    frames=2,
    frames_after=2,
)
class _:
    def before(compile):
        f = compile(above_three)
        return [f(np.ones(3), n) for n in (3, 4, 3, 4)]

    def after(compile):
        above, below = compile(lambda x: x * 2), compile(lambda x: x * 3)
        return [(above if n > 3 else below)(np.ones(3)) for n in (3, 4, 3, 4)]


@situation("int on one side of a branch", advice="compile with `dynamic=True`" + FROM_NOW_ON, recompiles=1, frames=2)
class _:
    def before(compile):
        f = compile(above_three)
        return [f(np.ones(3), n) for n in (4, 5, 6)]

    def after(compile):
        f = compile(above_three, dynamic=True)
        return [f(np.ones(3), n) for n in (4, 5, 6)]


@situation(
    "int that is an axis",
    advice="nothing to do when the values of `n` are few: it decides what is compiled, and each outcome has an entry of its own",
    recompiles=2,
    frames=3,
    frames_after=3,
)
class _:
    def before(compile):
        f = compile(lambda x, n: x.sum(axis=n))
        return [f(np.ones((2, 3, 4)), n) for n in (0, 1, 2, 0, 1, 2)]

    def after(compile):
        by_axis = [
            compile(lambda x: x.sum(axis=0)),
            compile(lambda x: x.sum(axis=1)),
            compile(lambda x: x.sum(axis=2)),
        ]
        return [by_axis[n](np.ones((2, 3, 4))) for n in (0, 1, 2, 0, 1, 2)]


@situation(
    "int beyond 64 bits",
    advice="pass integers that fit 64 bits; each value beyond has an entry of its own",
    recompiles=3,
    frames=4,
    left=1,
    frames_after=2,
)
class _:
    """The one change from a constant to a symbol is left."""

    def before(compile, large=2**70):
        f = compile(lambda x, n: x * 2 if n == 0 else x * 3)
        return [f(np.ones(3), n) for n in (1, 2, large, large + 1)]

    def after(compile):
        return SITUATIONS["int beyond 64 bits"].before(compile, large=2**62)


class Color(enum.IntEnum):
    RED = 3
    BLUE = 4


def one_type(name, said, numbers, frames=2):
    """Ints of several types: the type changed, whatever the value; passing one type stops it."""

    @situation(
        name,
        advice="pass one type every time; each type has an entry of its own",
        said=said,
        recompiles=1,
        frames=frames,
    )
    class _:
        def before(compile):
            f = compile(scale)
            return [f(np.ones(3), n) for n in numbers]

        def after(compile):
            f = compile(scale)
            return [f(np.ones(3), int(n)) for n in numbers]


one_type("bool after int", "type of 'n' changed. expected int (1), actual bool (True)", [1, True])
one_type("int after bool", "type of 'n' changed. expected bool (True), actual int (1)", [True, 1])
one_type("IntEnum after int", "type of 'n' changed. expected int (3), actual ", [3, Color.RED])
one_type("NumPy int after int", "type of 'n' changed. expected int (3), actual numpy.int64", [3, np.int64(3)])


@situation(
    "int beside float",
    advice="`n = float(n)` before the call, where the function computes with floats",
    said="type of 'n' changed. expected float, actual int",
    recompiles=2,
    frames=3,
)
class _:
    def before(compile):
        f = compile(scale)
        return [f(np.ones(3, np.float32), n) for n in (2.5, 3, 4)]

    def after(compile):
        f, results = compile(scale), []
        for n in (2.5, 3, 4):
            n = float(n)
            results.append(f(np.ones(3, np.float32), n))
        return results


# --- objects ---------------------------------------------------------------------------------------------------------------


def twice(v):
    return v * 2


def thrice(v):
    return v * 3


def apply(x, g):
    return g(x) + 1


def kept(name, objects):
    @situation(
        name,
        advice=FEW + "; with many, compile the function once for each: `suture.compile(functools.partial(apply, g=g))`",
        recompiles=1,
        frames=2,
        frames_after=2,
    )
    class _:
        """One entry each, and after the edit one callable each."""

        def before(compile):
            f = compile(apply)
            return [f(np.ones(3), g) for g in (*objects, *objects)]

        def after(compile):
            compiled = {g: compile(functools.partial(apply, g=g)) for g in objects}
            return [compiled[g](np.ones(3)) for g in (*objects, *objects)]


kept("functions of a module in turn", (twice, thrice))
kept("ufuncs in turn", (np.sqrt, np.square))


@situation(
    "function made for every call",
    advice="make `g` once and keep it, instead of a new one per call",
    recompiles=2,
    frames=3,
)
class _:
    def before(compile):
        f = compile(apply)
        return [f(np.ones(3), eval("lambda v: v * 2")) for _ in range(3)]

    def after(compile):
        f, g = compile(apply), eval("lambda v: v * 2")
        return [f(np.ones(3), g) for _ in range(3)]


@situation(
    "a global in turn",
    advice=FEW + "; or give `act` its object before the first call and leave it",
    recompiles=1,
    frames=2,
    frames_after=2,
)
class _:
    def before(compile):
        space = {"np": np, "act": np.sqrt}
        exec("def f(x): return act(x) + 1", space)
        f, results = compile(space["f"]), []
        for act in (np.sqrt, np.square, np.sqrt):
            space["act"] = act
            results.append(f(np.ones(3)))
        return results

    def after(compile):
        compiled = {}
        for act in (np.sqrt, np.square):
            space = {"np": np, "act": act}
            exec("def f(x): return act(x) + 1", space)
            compiled[act] = compile(space["f"])
        return [compiled[act](np.ones(3)) for act in (np.sqrt, np.square, np.sqrt)]


# --- arrays of other classes and dtypes ------------------------------------------------------------------------------------


def masked():
    return np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])


def other_class(name, make):
    @situation(
        f"{name} after an array",
        advice=f"nothing to do: {name} has an entry of its own, and a plain array would not have what its class adds",
        recompiles=1,
        frames=1,
        frames_after=1,
    )
    class _:
        """It runs in the interpreter. What can be done is to leave it out: the results are those of its class."""

        def before(compile):
            f = compile(lambda x: (x * x).sum())
            return [f(x) for x in (np.ones(3), make(), np.ones(3), make())]

        def after(compile):
            f, plain = compile(lambda x: (x * x).sum()), lambda x: (x * x).sum()
            return [(f if type(x) is np.ndarray else plain)(x) for x in (np.ones(3), make(), np.ones(3), make())]


other_class("numpy.ma.MaskedArray", masked)
other_class("numpy.matrix", lambda: np.asmatrix(np.eye(3)))


def mapped():
    with tempfile.NamedTemporaryFile() as file:
        array = np.memmap(file.name, dtype="f8", mode="w+", shape=3)
        array[:] = 2.0
    return array


@situation(
    "memory map after an array", advice="`x = np.asarray(x)` before the call", recompiles=1, frames=1, frames_after=1
)
class _:
    def before(compile):
        f = compile(lambda x: np.multiply(x, 2).sum())
        return [f(x) for x in (np.ones(3), mapped(), np.ones(3))]

    def after(compile):
        f, results = compile(lambda x: np.multiply(x, 2).sum()), []
        for x in (np.ones(3), mapped(), np.ones(3)):
            x = np.asarray(x)
            results.append(f(x))
        return results


@situation(
    "list after an array",
    advice="`x = np.asarray(x)` before the call, where the function only hands it to NumPy: operators of lists and tuples mean "
    "something else",
    recompiles=1,
    frames=2,
)
class _:
    def before(compile):
        f = compile(lambda x: np.multiply(x, 2))
        return [f(x) for x in (np.ones(3), [1.0, 2.0, 3.0])]

    def after(compile):
        f, results = compile(lambda x: np.multiply(x, 2)), []
        for x in (np.ones(3), [1.0, 2.0, 3.0]):
            x = np.asarray(x)
            results.append(f(x))
        return results


@situation(
    "bytes the other way round",
    advice="`x = np.array(x, x.dtype.newbyteorder('='))` before the call",
    recompiles=1,
    frames=1,
)
class _:
    def before(compile):
        f = compile(double)
        return [f(x) for x in (np.ones(3), np.ones(3, ">f8"))]

    def after(compile):
        f, results = compile(double), []
        for x in (np.ones(3), np.ones(3, ">f8")):
            x = np.array(x, x.dtype.newbyteorder("="))
            results.append(f(x))
        return results


def unaligned():
    return np.frombuffer(bytes(1) + np.full(3, 2.0).tobytes(), dtype=np.uint8)[1:].view(np.float64)


@situation("bytes between the places", advice="`x = np.array(x)` before the call", recompiles=1, frames=1)
class _:
    def before(compile):
        f = compile(double)
        return [f(x) for x in (np.ones(3), unaligned())]

    def after(compile):
        f, results = compile(double), []
        for x in (np.ones(3), unaligned()):
            x = np.array(x)
            results.append(f(x))
        return results


@situation(
    "half precision after double",
    advice="nothing to do: numpy.ndarray of dtype float16 has an entry of its own",
    recompiles=1,
    frames=1,
    frames_after=1,
)
class _:
    def before(compile):
        f = compile(double)
        return [f(np.ones(3, dtype)) for dtype in ("f8", "f2", "f8", "f2")]

    def after(compile):
        f = compile(double)
        return [(f if dtype == "f8" else double)(np.ones(3, dtype)) for dtype in ("f8", "f2", "f8", "f2")]


@situation(
    "dtypes that do not hold each other",
    advice="nothing to do when the dtypes of `x` are few: each has an entry of its own",
    recompiles=2,
    frames=3,
    frames_after=3,
)
class _:
    def before(compile):
        f = compile(double)
        return [f(np.ones(3, dtype)) for dtype in ("f4", "f8", "i8", "f4", "f8", "i8")]

    def after(compile):
        by_dtype = {dtype: compile(double) for dtype in ("f4", "f8", "i8")}
        return [by_dtype[dtype](np.ones(3, dtype)) for dtype in ("f4", "f8", "i8", "f4", "f8", "i8")]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_advice_stops_the_recompiles_and_keeps_the_results(name):
    case = SITUATIONS[name]
    expected = case.before(plainly)
    with watched() as (recompiles, frames):
        results = case.before(suture.compile)
    assert_same(expected, results)
    assert (len(recompiles), len(frames)) == (case.recompiles, case.frames)
    told = {action for event in recompiles for action in event["actions"]}
    assert case.advice in told
    assert all(len(set(event["actions"])) == 1 for event in recompiles), "one set of edits, whichever entry refused"
    if case.said:
        assert case.said in recompiles[-1]["failures"][0]
    with watched() as (recompiles, frames):
        results = case.after(suture.compile)
    assert (len(recompiles), len(frames)) == (case.left, case.frames_after)
    assert_same(case.after(plainly), results)
    for before, after in zip(expected, results, strict=True):
        np.testing.assert_array_equal(after, before)


def test_code_is_advised_only_where_it_is_applied_here():
    """Every kind of edit that the driver can put into backticks is in some situation."""
    assert len(SITUATIONS) >= 15
    told = " ".join(case.advice for case in SITUATIONS.values())
    for edit in (
        "mark_dynamic",
        "dynamic=True",
        "asarray(",
        "ascontiguousarray",
        "asfortranarray",
        "float(",
        "partial(",
    ):
        assert edit in told


def test_advice_over_several_recompiles_does_not_contradict_itself():
    """check and the log of the limit print what all recompiles of a function said."""
    f = suture.compile(lambda x, n: (x * n).sum(axis=0))
    arrays = [np.ones((4, 6)), np.ones((6, 4)).T, np.ones((8, 12))[::2, ::2], np.ones((5, 7)), np.ones((9, 3)).T]
    with watched() as (recompiles, frames):
        for n, x in enumerate(arrays):
            np.testing.assert_array_equal(f(x, n + 2), (x * (n + 2)).sum(axis=0))
    assert len(frames) == len(recompiles) + 1
    told = " ".join(action for event in recompiles for action in event["actions"])
    assert "ascontiguousarray" in told and "asfortranarray" not in told
    assert "mark_static" not in told


def test_none_in_place_of_an_array_is_no_object_to_keep():
    f = suture.compile(lambda x, w: x if w is None else x * w)
    with watched() as (recompiles, frames):
        for w in (None, np.ones(3), None):
            f(np.ones(3), w)
    (event,) = recompiles
    assert len(frames) == 1 and "once and keep" not in event["actions"][0]
