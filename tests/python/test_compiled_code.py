"""suture.decompile of compiled functions: what runs instead, as Python, with the decompiler's verdicts."""

from __future__ import annotations

import ast
import base64
import json
import marshal
import re
from typing import Any

import numpy as np
import pytest

import suture
from suture import _compiled_code, _core


def seed(x: Any, n: Any) -> Any:
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n


def function_text(source: str, name: str) -> str:
    """The definition of `name` in `source`."""
    tree = ast.parse(source)
    (node,) = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == name]
    return "\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno])


def test_the_function_of_the_seed_tells_its_story_in_five_lines() -> None:
    """2 frames compile once each."""
    compiled = suture.compile(seed)
    compiled(np.ones((8, 8)), 3.0)
    shown = suture.decompile(compiled)
    resume = compiled.status()["frames"][1]["function"]
    names = re.findall(r"__resume_at_\d+_\d+", function_text(shown.source, "__transformed_code_0_for_seed"))
    assert function_text(shown.source, "__transformed_code_0_for_seed") == (
        "def __transformed_code_0_for_seed(x, n):\n"
        "    graph_out_0, y = __compiled_fn_1(x)\n"
        "    if graph_out_0:\n"
        f"        return {names[0]}(n, y)\n"
        f"    return {names[1]}(n, y)"
    )
    assert names[0] == resume
    assert function_text(shown.source, resume) == (
        f"def {resume}(n, y):\n    y = y * 2\n    return np.maximum(y, 0) * n"
    )
    assert shown.verdict == "verified: same bytecode"
    assert (shown.tier, [code.qualname for code in shown.codes]) == (1, ["__transformed_code_0_for_seed", *names])
    assert "def __guard_0_for_seed(x, n, globals, closure=(), function=None):" in shown.source


def test_graphs_stand_under_the_name_by_which_they_are_called() -> None:
    """1 frame compiles, once: it is one graph, and no Python runs."""
    compiled = suture.compile(lambda x: np.cos(x) * 2)
    compiled(np.ones(3))
    shown = suture.decompile(compiled)
    space: dict[str, Any] = {}
    exec(
        compile(
            ast.Module([n for n in ast.parse(shown.source).body if "guard" not in getattr(n, "name", "")], []),
            "s",
            "exec",
        ),
        space,
    )
    assert np.array_equal(space["__compiled_fn_1"](np.ones(3))[0], np.cos(np.ones(3)) * 2)
    assert "__compiled_fn_1 is all that runs" in shown.source
    assert shown.verified


def test_before_anything_is_compiled_it_is_the_function_inside() -> None:
    compiled = suture.compile(seed)
    assert suture.decompile(compiled).source == suture.decompile(seed).source


class Holder:
    def __init__(self) -> None:
        self.count = 0
        self.values: list[Any] = []


def closure_of(scale: Any) -> Any:
    def inner(x: Any) -> Any:
        y = x * scale
        print(end="")
        return y + scale

    return inner


closures = closure_of(2.0)


def loop(x: Any) -> Any:
    for k in range(3):
        x = x + k
        print(end="")
    return x * 2


def effects(x: Any, holder: Any) -> Any:
    holder.count = x.sum()
    return x + 1


def guarded(x: Any) -> Any:
    try:
        y = x + 1
        print(end="")
        return y * 2
    finally:
        holder.count += 1


def with_block(x: Any) -> Any:
    with np.errstate(all="ignore"):
        y = x / 2
        print(end="")
    return y + 1


def varied(x: Any, *rest: Any, key: Any = 3, **more: Any) -> Any:
    y = x * key + len(rest) + len(more)
    print(end="")
    return y - rest[0]


def deleted(x: Any) -> Any:
    y = x + 1
    print(end="")
    del x
    return y


holder = Holder()
PROGRAMS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (closures, (np.ones(3),), {}),
    (loop, (np.ones(3),), {}),
    (effects, (np.ones(3), Holder()), {}),
    (guarded, (np.ones(3),), {}),
    (with_block, (np.ones(3),), {}),
    (varied, (np.ones(3), 1.0), {"key": 2.0, "other": 1}),
    (deleted, (np.ones(3),), {}),
]


@pytest.mark.parametrize("function, args, kwargs", PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_transformed_code_of_every_kind_is_verified_or_says_why_not(function: Any, args: Any, kwargs: Any) -> None:
    """Each function compiles at least one frame with transformed code."""
    compiled = suture.compile(function)
    compiled(*args, **kwargs)
    entries = [entry for entry in _core.compiled_entries(compiled) if entry["transformed"]]
    assert entries
    for entry in entries:
        text = _compiled_code.transformed_text(entry["transformed"])
        assert text.name == f"__transformed_code_{entry['entry']}_for_{entry['function'].__name__}"
        assert "__tail_call" not in text.source
        # What enters a with statement here and leaves it in a resume function, or hands an exception on, is no statement of Python.
        if function in (guarded, with_block):
            assert text.verdict.startswith("verified") or "# Not decompiled: " in text.source
        else:
            assert text.verdict == "verified: same bytecode", text.source
    shown = suture.decompile(compiled)
    ast.parse(shown.source)
    assert shown.verified == all(code.verdict.startswith("verified") for code in shown.codes)


def test_names_that_are_no_identifiers_and_odd_file_names() -> None:
    """2 frames at most; the lambda is named by its compile."""
    space: dict[str, Any] = {"np": np}
    exec(compile("f = lambda x: (print(end=''), x * 2)[1]", 'a\nb"""\\.py', "exec"), space)
    space["f"].__qualname__ = "odd\n'''name"
    compiled = suture.compile(space["f"])
    compiled(np.ones(3))
    shown = suture.decompile(compiled)
    ast.parse(shown.source)
    assert _core.compiled_entries(compiled)


def test_more_arguments_than_the_compiler_of_python_pushes() -> None:
    """At least 1 frame compiles; its resume function takes 40 variables."""
    names = [f"a{i}" for i in range(40)]
    body = "".join(f"    {name} = x + {i}\n" for i, name in enumerate(names))
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x):\n{body}    print(end='')\n    return {' + '.join(names)}\n", space)
    compiled = suture.compile(space["f"])
    compiled(np.ones(3))
    entries = [entry for entry in _core.compiled_entries(compiled) if entry["transformed"]]
    text = _compiled_code.transformed_text(entries[0]["transformed"])
    assert text.verdict == "verified: same bytecode"
    assert re.search(rf"return __resume_at_\d+_\d+\({', '.join(names)}\)", text.source)


def test_a_loop_that_stays_in_python_is_a_for_statement() -> None:
    """At least 2 frames compile."""
    compiled = suture.compile(loop)
    compiled(np.ones(3))
    source = suture.decompile(compiled).source
    assert re.search(
        r"    for item in __range\(0, 3, 1\):\n        exit, x = __iteration_at_\d+_\d+\(item, x\)", source
    )


def test_the_event_carries_what_the_dump_decompiles() -> None:
    """2 frames compile once each."""
    compiled = suture.compile(seed)
    compiled(np.ones((8, 8)), 3.0)
    events = [json.loads(line) for line in _core.explain_records(compiled)]
    first, second = [event["fields"] for event in events if event["event"] == "frame_code"]
    assert (first["name"], first["function"], second["name"]) == ("__transformed_code_0_for_seed", "seed", "")
    code = marshal.loads(base64.b64decode(first["original"]))
    assert code == seed.__code__
    assert marshal.loads(base64.b64decode(first["transformed"])).co_name == "seed"
    assert second["transformed"] == ""
