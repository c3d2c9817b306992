"""Tier 2 of the decompiler: nested statements with flags, for what is left to several places.

Each program is decompiled for every Python and must be proved in the second tier; then it and its text are run by that Python and
must give the same. Nothing is run by suture.compile: 0 frames.
"""

from __future__ import annotations

import dis
import textwrap

import pytest

import suture
from suture._recompile import RUNNING, compiler_for
from tests.support.decompiled_programs import VERSIONS, checked, decompiled

PATHS = "verified: path-equivalent"
MANAGER = """
class Manager:
    def __init__(self, swallows):
        self.swallows = swallows
    def __enter__(self):
        seen.append('enter')
        return self
    def __exit__(self, *exception):
        seen.append(exception[0].__name__ if exception[0] else None)
        return self.swallows
"""


PROGRAMS = {
    "with in a for loop, left to five places": """
def run(steps, swallows):
    for step in steps:
        with Manager(swallows) as manager:
            if step == 1:
                continue
            if step == 2:
                break
            if step == 3:
                return 'returned', step
            if step == 4:
                raise ValueError(step)
        seen.append(manager is not None and step)
    else:
        seen.append('exhausted')
    return step
CALLS = [([step, 5], swallows) for step in range(6) for swallows in (False, True)]
""",
    "finally in a while loop": """
def run(step, last):
    while step > 10:
        step -= 7
        try:
            seen.append(step)
            if step == 11:
                break
            if step == 12:
                return seen
            if step == 13:
                raise KeyError(step)
        except KeyError as error:
            seen.append(error.args)
            if last:
                continue
        finally:
            seen.append('finally')
    else:
        seen.append('else')
    return step
CALLS = [(step, last) for step in (18, 19, 20, 27, 34, 5) for last in (False, True)]
""",
    "loops in loops with several exits": """
def run(rows, wanted):
    for row in rows:
        for value in row:
            if value == wanted:
                seen.append(value)
                break
            if value < 0:
                return 'negative'
            while value > 100:
                value //= 2
                if value == 77:
                    return value
                if value == 78:
                    break
            else:
                continue
            seen.append('half')
        else:
            continue
        break
    else:
        return 'nowhere'
    return row
CALLS = [([[1, 2], [3, 156, 4]], 3), ([[1, -1]], 3), ([[1], [154]], 3), ([[156, 2]], 2), ([], 0), ([[400]], 1)]
""",
    "targets of loops and with statements": """
def run(pairs, swallows):
    for key, value in pairs:
        pass
    for seen_key, seen_value in pairs:
        with Manager(swallows):
            seen.append(seen_key)
        with Manager(swallows) as manager, Manager(False):
            manager = None
            if seen_value:
                raise ValueError
    return key, value
CALLS = [([(1, 0), (2, 0)], False), ([(1, 1), (2, 0)], True), ([(1, 1)], False)]
""",
    "an exit that raises inside another with": """
class Raises(Manager):
    def __exit__(self, *exception):
        raise ValueError(self.swallows)
def run(choice, swallows):
    with Manager(swallows):
        with (Raises if choice > 1 else Manager)(swallows):
            seen.append(choice)
            if choice & 1:
                return 'odd'
            try:
                seen[choice] = 1
            except IndexError:
                return 'index'
            else:
                return 'stored'
    return 'behind'
CALLS = [(choice, swallows) for choice in range(4) for swallows in (False, True)]
""",
    "generator": """
def numbers(stop):
    try:
        for number in range(stop):
            if number == 2:
                continue
            if (yield number) or number == 4:
                break
        else:
            yield 'else'
    finally:
        yield 'finally'
def run(stop):
    return list(numbers(stop))
CALLS = [(0,), (3,), (9,)]
""",
    "except*": """
def run(error):
    while True:
        try:
            if error is None:
                break
            raise error
        except* ValueError as group:
            seen.append(group.exceptions)
            if len(seen) > 1:
                pass
        except* KeyError:
            seen.append('key')
        error = None
    return len(seen)
CALLS = [(None,), (ValueError(1),), (KeyError(1),), (ExceptionGroup('g', [ValueError(2), KeyError(3)]),), (OSError(),)]
""",
    "patterns": """
def run(value):
    for _ in range(3):
        match value:
            case [first, *rest] if first:
                value = rest
                continue
            case {'key': inner}:
                value = inner
            case int() | None:
                break
        seen.append(value)
    return value
CALLS = [([1, 2],), ({'key': [0, 1]},), (3,), (None,), ('text',)]
""",
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_is_proved_and_does_the_same(version: tuple[int, int], name: str) -> None:
    source = MANAGER + PROGRAMS[name]
    assert "_pc" not in checked(version, source, 2)


def test_a_statement_that_is_left_to_several_places_says_to_which() -> None:
    def first(rows, wanted):  # type: ignore[no-untyped-def]
        for row in rows:
            if row == wanted:
                return row
            if row > 5:
                break
        else:
            print("none")
        return rows

    result = suture.decompile(first, tier=2)
    assert (result.tier, result.verdict) == (2, PATHS)
    body = result.source.partition("\n")[2]
    assert textwrap.dedent(body) == textwrap.dedent(
        """\
        for row in rows:
            if row == wanted:
                return row
            if row > 5:
                _leave = 8
                break
        else:
            _leave = 7
        if _leave == 7:
            print('none')
        return rows
        """
    )


def test_flags_have_names_that_the_code_does_not_have() -> None:
    def taken(rows, _leave, _s1):  # type: ignore[no-untyped-def]
        for row in rows:
            if row:
                break
        else:
            print(_s1)
        return _leave

    result = suture.decompile(taken, tier=2)
    assert (result.tier, result.verdict) == (2, PATHS)
    assert "_leave_ = " in result.source


# Each loop is entered in the middle.
JUMPS = """
def f(a, b):
    with a:
        if b:
            a.x()
        while b():
            a.y()
            a.z()
    return a
"""


def test_only_the_part_that_is_entered_in_several_places_is_a_dispatch_loop() -> None:
    if RUNNING != (3, 11):
        pytest.skip("jumps of one version are changed here")
    namespace: dict[str, object] = {}
    exec(JUMPS, namespace)
    function = namespace["f"]
    code = function.__code__  # type: ignore[attr-defined]
    instructions = list(dis.get_instructions(code))
    names = [each.argval for each in instructions]
    test = next(each for each in instructions if each.opname == "POP_JUMP_FORWARD_IF_FALSE")
    inside = instructions[names.index("z") - 1]
    changed = bytearray(code.co_code)
    changed[test.offset + 1] = (inside.offset - test.offset) // 2 - 1
    result = suture.decompile(code.replace(co_code=bytes(changed)))
    assert (result.tier, result.verdict) == (2, PATHS), result.notes
    assert result.source.startswith("def f(a, b):\n    with a")
    assert result.source.count("_leave == ") > 1


def test_every_python_compiles_texts_of_modules_and_classes() -> None:
    source = "for x in y:\n    if x:\n        break\nelse:\n    z = 1\nclass C:\n    for v in y:\n        if v:\n            break\n    else:\n        w = 1\n"
    for version in VERSIONS:
        compiler, _ = compiler_for(version, None)
        if compiler is None:
            continue
        text = decompiled(version, source, 2)
        assert "del _leave" in text


@pytest.mark.parametrize(
    "source", ["", "pass\n", '"""Text."""\n', "class C:\n    pass\n", "class C:\n    'text'\n", "import os\n"]
)
def test_bodies_that_end_where_they_begin(source: str) -> None:
    for version in VERSIONS:
        if compiler_for(version)[0] is not None:
            decompiled(version, source, 2)
