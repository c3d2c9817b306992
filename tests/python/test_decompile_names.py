"""What no literal and no identifier expresses: objects among the constants, and names that other tools make."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path

import pytest

import suture

VERIFIED = {1: "verified: same bytecode", 3: "verified: path-equivalent"}
OBJECTS = ", with _K[i] for constants that are no literals"
RENAMED = ", apart from renamed names"


def with_constants(function: Callable[..., object], **values: object) -> types.CodeType:
    code = function.__code__
    return code.replace(co_consts=tuple(values.get(c, c) if isinstance(c, str) else c for c in code.co_consts))


def with_names(code: types.CodeType, names: dict[str, str]) -> types.CodeType:
    def new(old: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in old)

    qualname = ".".join(new(tuple(code.co_qualname.split("."))))
    constants = tuple(with_names(c, names) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(
        co_varnames=new(code.co_varnames),
        co_names=new(code.co_names),
        co_cellvars=new(code.co_cellvars),
        co_freevars=new(code.co_freevars),
        co_name=names.get(code.co_name, code.co_name),
        co_qualname=qualname,
        co_consts=constants,
    )


@pytest.mark.parametrize("tier", [1, 3])
def test_objects_among_the_constants_are_verified_as_items_of_a_table(tier: int) -> None:
    def choose(x: object) -> object:
        if x is None:
            return "A"
        return len((x, "B")), "A"

    marker, other = object(), object()
    result = suture.decompile(with_constants(choose, A=marker, B=(1, (other, 2))), tier=tier)
    assert result.verdict == VERIFIED[tier] + OBJECTS
    assert "return _K[0]" in result.source and "(1, (_K[1], 2))" in result.source
    assert result.constants[:2] == [marker, other]


def test_another_item_of_the_table_is_another_constant() -> None:
    def choose(x: object) -> object:
        return ("A" if x else "B", x)

    one, two = object(), object()
    assert not suture.same_bytecode(with_constants(choose, A=one, B=two), with_constants(choose, A=two, B=one))


def test_code_with_a_variable_of_that_name_is_not_verified() -> None:
    def choose(x: list[object]) -> object:
        return ("A", _K[0])  # type: ignore[name-defined]  # noqa: F821

    result = suture.decompile(with_constants(choose, A=object()))
    assert not result.verified


def outer(one: object, other: object) -> object:
    global module
    module = one

    def inner() -> object:
        return one.attribute, other, module  # type: ignore[attr-defined]

    return inner


NAMES = {"one": "a; import os", "module": "@py_builtins", "attribute": "class", "inner": "1x y"}


@pytest.mark.parametrize("tier", [1, 3])
def test_names_that_are_no_identifiers_are_renamed_everywhere(tier: int) -> None:
    result = suture.decompile(with_names(outer.__code__, NAMES), tier=tier)
    assert [code.verdict for code in result.codes] == [VERIFIED[tier] + RENAMED] * 2
    assert result.verdict == VERIFIED[tier] + RENAMED
    assert result.renamed == {
        "a; import os": "a__import_os",
        "@py_builtins": "_py_builtins",
        "class": "class_",
        "1x y": "_1x_y",
    }
    assert "return a__import_os.class_, other, _py_builtins" in result.source
    assert "_py_builtins stands for the name '@py_builtins', which is no identifier" in result.notes
    assert result.to_dict()["renamed"] == result.renamed


def test_new_names_are_those_of_nothing_else() -> None:
    def f(a: int, a_: int) -> int:
        return a + a_

    result = suture.decompile(with_names(f.__code__, {"a": "a-"}))
    assert result.renamed == {"a-": "a__"}
    assert result.source == "def f(a__, a_):\n    return a__ + a_\n"


def test_names_that_the_compiler_makes_stay() -> None:
    def f(rows: list[int]) -> object:
        from os.path import join

        return list(x for x in rows), lambda: join

    assert suture.decompile(f).renamed == {}
    assert suture.decompile(f).verdict == VERIFIED[1]


def test_a_part_of_a_file_in_another_directory(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("def outer():\n    def inner(x):\n        return x\n    return inner\n")
    result = suture.decompile(f"{file}:outer.<locals>.inner")
    assert (result.source, result.verdict) == ("def inner(x):\n    return x\n", VERIFIED[1])
    with pytest.raises(ValueError, match=r"no code named 'outer.inner'"):
        suture.decompile(f"{file}:outer.inner")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        suture.decompile(f"{tmp_path}/nowhere.py:f")
