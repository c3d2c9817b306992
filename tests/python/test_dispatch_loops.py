"""Tier 3 of the decompiler: functions as dispatch loops, proved path-equivalent."""

from __future__ import annotations

import subprocess
import sys
import time
import types
from collections.abc import Callable

import numpy as np
import pytest

import suture
from suture import _toolbox
from suture._recompile import RUNNING, compile_here, other_python
from tests.support.oracle import frames_compiled

PATHS = "verified: path-equivalent"
SEEN_IN_MODULE = f"{PATHS}, with variables of its own in sight of whoever looks at the namespace while it runs"
SEEN_IN_CLASS = (
    f"{PATHS}, with variables of its own in sight of its metaclass, whose namespace may refuse them (as that of enum.Enum does), "
    "and of whoever looks at the namespace while it runs"
)


def looped(function: Callable[..., object]) -> str:
    result = suture.decompile(function, tier=3)
    assert (result.verdict, result.tier) == (PATHS, 3), (result.verdict, result.notes)
    return result.source


def namespace_of(source: str, **names: object) -> dict[str, object]:
    namespace = dict(names)
    exec(source, namespace)
    return namespace


def test_a_loop_that_is_entered_from_outside_once_ends() -> None:
    """The loop has one way in and its own way back: both count where a part of the text begins."""

    def drain(get: Callable[[], object]) -> object:
        try:
            while True:
                get()
        except KeyError:
            pass
        return 1

    source = looped(drain)
    waiting = [1, 2]

    def get() -> object:
        if not waiting:
            raise KeyError
        return waiting.pop()

    assert namespace_of(source)["drain"](get) == 1  # type: ignore[operator]
    assert not waiting


def test_a_method_whose_arguments_branch_is_an_attribute_that_is_called() -> None:
    def method(text: str, flag: bool) -> object:
        return text.split("a" if flag else "b"), "b".join(text if flag else [text, text])

    assert namespace_of(looped(method))["method"]("xaybz", True) == method("xaybz", True)  # type: ignore[operator]


def test_the_attribute_of_another_method_is_noticed() -> None:
    def first(text: str, flag: bool) -> object:
        return text.split("a" if flag else "b")

    source = looped(first).replace(".split", ".rsplit")
    other = namespace_of(source)["first"]
    assert not suture.same_bytecode(first, other)


def test_what_is_nested_in_a_listed_function_keeps_its_verdict() -> None:
    def outer(value: int) -> object:
        count = value

        def inner() -> int:
            nonlocal count
            count += 1
            return count

        return inner

    code = outer.__code__
    unreadable = code.replace(co_code=code.co_code[:-2] + b"\xff\xff")
    result = suture.decompile(unreadable)
    assert [(each.qualname.rpartition(".")[2], each.tier, each.verdict) for each in result.codes] == [
        ("outer", 4, "unverified: not decompiled"),
        ("inner", 1, "verified: same bytecode"),
    ]
    assert "count = None" in result.source  # the cell is there for it


def test_an_asynchronous_generator_returns_nothing() -> None:
    async def numbers(stop: int) -> object:
        for number in range(stop):
            yield number

    looped(numbers)


def test_what_a_compiled_function_runs_has_no_tiers() -> None:
    def double(x: np.ndarray) -> np.ndarray:
        return x * 2 + 1

    compiled = suture.compile(double)
    assert suture.decompile(compiled, tier=3).tier == 3  # nothing is compiled yet: the function inside
    compiled(np.ones(3))
    assert frames_compiled(compiled) == 1
    for options in ({"tier": 3}, {"check": False}, {"python": sys.executable}):
        with pytest.raises(ValueError, match="__wrapped__"):
            suture.decompile(compiled, **options)  # type: ignore[arg-type]
    assert "__compiled_fn_1" in suture.decompile(compiled).source


def test_compilers_of_other_pythons_are_kept_and_closed() -> None:
    program = (
        "import suture, sys, suture._recompile as r\n"
        "def f(): return 1\n"
        "for _ in range(3):\n"
        "    assert suture.decompile(f, python=sys.executable).verified\n"
        "assert len(r._named) == 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---- modules and classes: the loop's own variables are names, set before and deleted behind it

MODULE = '''
"""About the module."""
from __future__ import annotations
import os.path as path, sys
from math import *

limit: int = 3
total = 0
for number in range(limit):
    if number == 2:
        break
    total += number
else:
    total = -1
try:
    import nothing_of_this_name
except ImportError as error:
    found = str(error)


class Counter:
    """Counts."""
    step: int = 1
    names = [name for name in ("a", "b") if name != "a"]
    for step in range(2):
        pass

    def __init__(self) -> None:
        self.__count = 0

    def __next(self) -> int:
        self.__count += self.step
        return self.__count

    def twice(self) -> tuple[type, int]:
        self.__next()
        return __class__, self.__next()


result = Counter().twice()[1], floor(2.5), path.basename("a/b"), Counter.names
'''


def test_modules_and_classes_are_loops_that_leave_no_names() -> None:
    code = compile(MODULE, "<module>", "exec", 0, True)
    result = suture.decompile(code, tier=3)
    verdicts = {each.qualname: (each.tier, each.verdict) for each in result.codes}
    assert verdicts["<module>"] == (3, SEEN_IN_MODULE)
    assert verdicts["Counter"] == (3, SEEN_IN_CLASS)
    assert verdicts["Counter.__next"] == verdicts["Counter.twice"] == (3, PATHS)
    assert result.verdict == SEEN_IN_CLASS
    plain: dict[str, object] = {"__name__": "m"}
    exec(code, plain)
    looped_names: dict[str, object] = {"__name__": "m"}
    exec(compile(result.source, "<text>", "exec", 0, True), looped_names)
    assert list(plain) == list(looped_names)
    assert plain["result"] == looped_names["result"] == (2, 2, "b", ["b"])
    assert plain["__annotations__"] == looped_names["__annotations__"] == {"limit": "int"}
    assert plain["__doc__"] == looped_names["__doc__"] == "About the module."
    assert vars(plain["Counter"]).keys() == vars(looped_names["Counter"]).keys()


def test_the_verdict_of_a_class_says_that_its_namespace_may_refuse_the_loops_names() -> None:
    """The code of a class does not say what its metaclass is, and that of an enum sees a name that is assigned twice."""
    text = "import enum\nclass Color(enum.Enum):\n    RED = 1\n    if RED:\n        GREEN = 2\n"
    result = suture.decompile(compile(text, "<m>", "exec", 0, True), tier=3)
    assert {each.qualname: each.verdict for each in result.codes} == {
        "<module>": SEEN_IN_MODULE,
        "Color": SEEN_IN_CLASS,
    }
    assert result.verdict == SEEN_IN_CLASS
    with pytest.raises(TypeError, match="'_pc' already defined"):
        exec(result.source, {"__name__": "m"})


def holding_twice(source: str, inner: types.CodeType) -> types.CodeType:
    """The code of a module with two functions, both of which are `inner`."""
    code = compile(source, "<m>", "exec", 0, True)
    return code.replace(co_consts=tuple(inner if isinstance(each, types.CodeType) else each for each in code.co_consts))


@pytest.mark.parametrize("tier", [1, 3])
def test_code_that_stands_in_very_many_places_is_listed_once(tier: int) -> None:
    """Written out, 18 levels that each hold the next one twice are 393215 definitions."""
    code = holding_twice("def f(): pass\n", compile("def f(): pass\n", "<m>", "exec", 0, True).co_consts[0])
    for _ in range(17):
        code = holding_twice("def f(): pass\ndef g(): pass\n", code)
    begin = time.process_time()
    result = suture.decompile(code, tier=tier)
    assert time.process_time() - begin < 5
    assert (result.tier, result.verified) == (4, False)
    assert len(result.codes) == 19
    assert "its text would define 393215 code objects for the 19 that there are: each is listed once" in result.notes[0]


def test_a_module_whose_functions_use_the_loops_names_gets_others() -> None:
    text = "for x in y:\n    if x: z(x)\ndef f(): return _pc, _s1\n"
    result = suture.decompile(compile(text, "<m>", "exec"), tier=3)
    assert result.tier == 3 and result.verified
    assert "_pc_ = 0" in result.source


def test_code_that_sees_its_locals_says_so_in_the_verdict() -> None:
    def names(flag: bool) -> object:
        if flag:
            return sorted(locals())
        return eval("flag")

    result = suture.decompile(names, tier=3)
    assert result.verdict == "verified: path-equivalent, with variables of its own in sight of locals"


COMPREHENSIONS = """
def f(rows, stop):
    out = {x: [y * y for y in row if y != stop] for x, row in enumerate(rows) if row}
    pairs = [(k, v) for k, v in out.items()]
    if pairs:
        k = {y for y in pairs[0][1]}
        return k, [lambda: z for z in (1, 2)][0]()
    return [x for x in rows]
"""


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_comprehensions_stay_expressions(version: tuple[int, int]) -> None:
    """Those of 3.12 and later are loops in the code around them."""
    compiler = RUNNING == version and compile_here or other_python(version)
    if compiler is None:
        pytest.skip(f"there is no Python {version} here")
    for text in (COMPREHENSIONS, "a = [x for x in y if x]\nb = {x for x in z}\n"):
        record = _toolbox.decompile_marshal(compiler(text, 0), version, compiler, "", None, "", 3)
        assert all(tier == 3 and verdict.startswith("verified") for _, _, tier, verdict, _ in record["codes"]), record
        assert " for x in " in record["source"]


def test_a_handler_that_begins_with_a_try_statement_keeps_it() -> None:
    def look_up(one: dict[str, int], other: dict[str, int]) -> int:
        try:
            return one["x"]
        except KeyError as error:
            try:
                return other["x"]
            except KeyError:
                raise ValueError(str(error)) from None

    again = namespace_of(looped(look_up))["look_up"]
    assert again({}, {"x": 2}) == 2  # type: ignore[operator]
    with pytest.raises(ValueError, match="'x'"):
        again({}, {})  # type: ignore[operator]


def test_a_class_whose_base_is_chosen_by_a_branch() -> None:
    def make(flag: bool) -> type:
        class Made(ValueError if flag else TypeError):  # type: ignore[misc]
            number = 3

        return Made

    assert (
        suture.decompile(make).verdict == "verified: same bytecode"
    )  # the class is another one's by its qualified name
    result = suture.decompile(make, tier=3)
    assert (result.tier, result.verdict) == (3, SEEN_IN_CLASS)
    assert "class Made(ValueError if flag else TypeError):" in result.source
    assert namespace_of(result.source)["make"](False).__mro__[1] is TypeError  # type: ignore[operator]


def test_loops_that_do_nothing_do_it_in_both() -> None:
    def idle(flag: bool) -> object:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            return flag

    def spin(flag: bool) -> object:
        if flag:
            while True:
                pass
        return flag

    assert "except KeyboardInterrupt:" in looped(idle)
    assert "while True:\n                pass" in looped(spin)


def test_a_test_of_a_sequence_is_a_value_where_no_branch_follows() -> None:
    """No compiler of Python makes such code: the text is right, and what it does is not proved."""
    if RUNNING != (3, 11):
        pytest.skip("the bytecode is that of 3.11")
    import dis

    def name(x: object) -> object:
        return x, x

    for opcode, yes, no in (("MATCH_SEQUENCE", [], 1), ("MATCH_MAPPING", {}, [])):
        instructions = [("RESUME", 0), ("LOAD_FAST", 0), (opcode, 0), ("BUILD_TUPLE", 2), ("RETURN_VALUE", 0)]
        code = name.__code__.replace(co_code=b"".join(bytes([dis.opmap[each], arg]) for each, arg in instructions))
        result = suture.decompile(code, tier=3, check=False)
        assert result.tier == 3
        again = namespace_of(result.source)["name"]
        assert (again(yes), again(no)) == ((yes, True), (no, False))  # type: ignore[operator]
