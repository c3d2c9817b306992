"""Tier 3 of the decompiler: `match`, `except*`, f-strings, displays and type parameters as dispatch loops.

Each program is decompiled for every Python it is written for and must be proved; then it and its text are run by that Python and
must give the same.
"""

from __future__ import annotations

import re

import pytest

from suture import _toolbox
from suture._recompile import RUNNING, compile_here
from tests.support.decompiled_programs import VERSIONS, checked, decompiled

MATCH = """
from collections.abc import Sequence


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Noisy(Sequence):
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        seen.append("len")
        return len(self.items)

    def __getitem__(self, index):
        seen.append(index)
        return self.items[index]


class Names:
    key = "named"


def run(x):
    match x:
        case 0 | 1 as small if not isinstance(x, bool):
            return "small", small
        case None | True:
            return "singleton"
        case []:
            return "empty"
        case [a] | [a, 10]:
            return "one or ten", a
        case [a, 0, *rest]:
            return "zero", a, rest
        case [[p], *_, q] if q:
            return "ends", p, q
        case (None, *_, "end"):
            return "end"
        case [1 | 2 as t, _, _]:
            return "t", t
        case {"k": v, **rest}:
            return v, rest
        case {"pair": [u, w], "n": int(n)}:
            return u, w, n
        case {Names.key: c}:
            return "by name", c
        case {}:
            return "mapping"
        case Point(0, y=[z, *_, 3]):
            return "point", z
        case Point(x=Point(deep), y=_):
            return "deep", deep
        case int(n) | str(n):
            return "n", n
        case -1.5 | 2j:
            return "number"
    return "nothing"


CALLS = [
    (each,)
    for each in (
        0, 1, 7, True, None, "s", -1.5, 2j, 3.0, b"", (), [], [5], [5, 10], (5, 0, 6, 7), [[4], 1, 2, 3], [[4], 0, 0],
        [None, "x", "end"], [2, 3, 4], [3, 3, 4], {"k": 1, "m": 2}, {"pair": (1, 2), "n": 3}, {"pair": (1, 2), "n": "3"},
        {"named": 8}, {}, Point(0, [9, 3]), Point(0, [9, 4]), Point(Point(6, 7), 1), Point(1, 1), Noisy(), Noisy([4], 1, 2),
        Noisy(None, "end"), Noisy(5, 0, 1), range(3), object,
    )
]
"""

EXCEPT_STAR = """
def act(what, error=None):
    seen.append((what, type(error).__name__, str(error)))
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            if "fail" in str(each):
                raise RuntimeError("in " + what)


def run(*errors):
    done = []
    try:
        if errors:
            raise ExceptionGroup("all", list(errors))
        done.append("body")
    except* ValueError as error:
        act("value", error)
    except* (TypeError, KeyError):
        for number in range(4):
            if number == 2:
                break
            done.append(number)
    except* OSError as error:
        try:
            act("os", error)
        except RuntimeError as inner:
            raise LookupError("from os") from inner
        finally:
            done.append("os")
    else:
        done.append("else")
    finally:
        act("finally")
    return done


CALLS = [
    (),
    (ValueError("a"),),
    (ValueError("a"), TypeError("b")),
    (KeyError("c"), OSError("d"), ValueError("e")),
    (OSError("fail"), ValueError("fail")),
    (ArithmeticError("left"), ValueError("a")),
    (ArithmeticError("left"), OSError("fail"), KeyError("c")),
    (ExceptionGroup("inner", [ValueError("a"), OSError("b"), IndexError("c")]),),
]
"""

TYPE_PARAMETERS = """
def run(flag):
    default = [flag]

    def identity[T: (int, str)](x: T = default, *, other: list[T] = None) -> T:
        if flag:
            return x, other
        return other

    class Box[T, *Ts, **P](dict, **({} if True else {})):
        content: T

        def get[U](self, key: U, *args: P.args) -> tuple[T, U]:
            for each in args:
                if each == key:
                    return each
            return self[key]

    type Pair[T] = tuple[T, identity]
    type Plain = Box | None
    box = Box[int](a=1)
    return (
        identity(), identity(3, other=4), identity.__type_params__, identity.__annotations__, Box.__type_params__,
        Box.__parameters__, Box.__annotations__, box.get("a"), box.get("a", "b", "a"), Pair.__value__.__args__[0],
        Pair.__type_params__, Plain.__value__.__args__[1], [len(Box.__orig_bases__)],
        identity.__type_params__[0].__constraints__,
    )


CALLS = [(True,), (False,)]
"""

BRANCHES = """
def note(value):
    seen.append(getattr(value, "__name__", value))
    return value


def keywords(*args, **named):
    return args, named


class Quiet:
    def __init_subclass__(cls, **named):
        seen.append(sorted(named))


def run(c, x, y, rows):
    out = []
    out.append([*note(rows), note(x) if c else y, *rows, 0 < y < c])
    out.append({**{"a": 1}, "k": x or note(y), "z": 3 and c})
    out.append(sorted({*rows, x if c else y}, key=str))
    out.append(f"{note(x)}{x if c else y:{note(9) or 3}}--{not x and y!r}")
    out.append("%s: %r%s" % (x, y, note("!") if c else ""))
    out.append(keywords(*rows, k=x or y, **{"w": c and x}, z=c and note(x)))
    out.append(keywords(1, *[x or y]))
    out.append(keywords(*(1, 2), *rows, **{"not a name": c or 1}))
    out.append(max(each for each in (rows or [x])))

    class Chosen(Quiet if c else dict, **({"flag": y} if c else {})):
        pass

    @(note if c else str)
    def decorated(a=x or y, *, b=c and x):
        return a, b

    out.append((Chosen.__mro__[1].__name__, decorated if isinstance(decorated, tuple) else str(decorated)[:9]))
    for number in {1, 2} if c else {3}:
        out.append(number)
    for number in {4, 5, 6}:
        out.append(number)
    first, *rest = [1, 2, 3] if c else [x, y]
    out.append((first, rest, not not x))
    [note(each) for each in rows if each != x]
    assert c or y, f"{x or note(y)} is wrong"
    return out


CALLS = [(True, 3, 0, [1, 2]), (False, 3, 4, [3]), (0, 0, "", []), (0, 0, 0, [0]), (5, "t", 2, ("u", "v"))]
"""

NAMES_OF_THE_LOOP = """
class Pair:
    def __init__(self, *values):
        for value in values:
            if value:
                self._s1, self._s2 = value, not value


def run(x):
    return vars(Pair(x))


CALLS = [(1,), (0,)]
"""

STORED_AGAIN = """
class Renamed:
    __qualname__ = "Other"
    __module__ = "elsewhere"


def run():
    return Renamed.__qualname__, Renamed.__module__


CALLS = [()]
"""

ODD_CORNERS = """
import contextlib


class Owner:
    def last(self):
        return ("last",)

    def first(self, *what):
        return ("first", *what)

    def pick(self, flag):
        return (self.last if flag else self.first)() + (self.twice if flag else self.first)(*"x"[flag:])

    def twice(self, *what):
        return what, seen.count(what) or (self.last if what else self.first)()


def comprehensions(rows, flag):
    with contextlib.nullcontext():
        if flag:
            return [key for key, value in rows]
    named = {key: value + 1 for key, value in rows} if rows else None
    [seen.append(row) for row in rows if row]
    return named, {value for key, value in rows}


async def stream(rows):
    for row in rows:
        yield row


async def nested(rows):
    return [[i + j async for i in stream([1, 2])] for j in rows], {k: v async for k, v in stream([(1, 2)])}


def last_part(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def run(x, rows):
    out = ["%s%s" f"" % (x, rows), Owner().pick(x > 0)]
    try:
        1 / x
    except (ValueError if len(rows) > 5 else ZeroDivisionError) as error:
        out.append(str(error))
    except x or Exception:
        pass
    try:
        try:
            out.append(rows[1])
        finally:
            pass
    except IndexError:
        out.append("short")
    out.append(x is not None and len(rows) or "")
    out.append(x & 1 and -1.0 or 1.0)
    out.append((x and 7) or rows and "rows" or None)

    def count():
        global total
        total = x
        return [total := total + each for each, _ in rows if isinstance(each, int)], total

    def hidden():
        return 1
        def never():
            return count, x

    if True:
        class Kept:
            pass
    else:
        class Kept:
            class Dropped:
                pass
    out.append(count())
    out.append(hidden())
    out.append(comprehensions(rows, x == 2))
    out.append(last_part(nested([10, 20])))
    return out, Kept.__qualname__


total = 0
CALLS = [(0, []), (1, [(1, 2), (3, 4)]), (2, [(5, 6)])]
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_odd_corners(version: tuple[int, int]) -> None:
    """What the compiler does with conditions, dead code, handlers that only raise again and comprehensions it inlines."""
    checked(version, ODD_CORNERS, 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_expressions_that_branch_stay_expressions_where_they_must(version: tuple[int, int]) -> None:
    text = checked(version, BRANCHES, 3)
    assert "note(x) if c else y" in text


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", [NAMES_OF_THE_LOOP, STORED_AGAIN], ids=["attributes", "qualname"])
def test_bodies(version: tuple[int, int], program: str) -> None:
    checked(version, program, 3)


def test_a_function_that_has_no_loop_takes_nothing_along() -> None:
    source = "class Outer:\n    def bad(self, x):\n        x[1:2:3] += [4]\n    def good(self):\n        return 1\n"
    record = _toolbox.decompile_marshal(compile_here(source, 0), RUNNING, compile_here, "", None, "", 3)
    assert {name: tier for name, _, tier, _, _ in record["codes"]} == {
        "<module>": 3,
        "Outer": 3,
        "Outer.bad": 4,
        "Outer.good": 3,
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_match_statements(version: tuple[int, int]) -> None:
    text = checked(version, MATCH, 3)
    assert "match _s" in text and " as t" not in text  # the names are stored behind the pattern


def test_patterns_of_different_blocks_share_their_locals() -> None:
    cases = "".join(f"        case [{i}, [a, *_, {i}], {{'k{i}': b}}]:\n            return a, b\n" for i in range(300))
    text = decompiled(RUNNING, f"def f(x):\n    match x:\n{cases}", 3)
    assert len(set(re.findall(r"_s\d+", text))) < 20


@pytest.mark.parametrize("version", VERSIONS)
def test_clauses_for_exception_groups(version: tuple[int, int]) -> None:
    text = checked(version, EXCEPT_STAR, 3)
    assert "except* ValueError as error:" in text


@pytest.mark.parametrize("version", [(3, 12), (3, 13)])
def test_type_parameters(version: tuple[int, int]) -> None:
    text = checked(version, TYPE_PARAMETERS, 3)
    assert "def identity[T: (int, str)](x: T = " in text and "type Plain = " in text
