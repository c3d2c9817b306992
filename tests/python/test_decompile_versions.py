"""Statements whose bytecode differs between versions: each comes back as the same text from every Python found on this machine."""

from __future__ import annotations

import textwrap
import time

import pytest

import suture
from suture import _toolbox
from tests.support.decompiled_programs import compiler_or_skip

# Nothing here is run or compiled by suture.compile: 0 frames.

VERSIONS = [(3, 11), (3, 12), (3, 13)]

EXCEPTION_GROUPS = {
    "clauses": "try:\n    f()\nexcept* A as e:\n    g(e)\nexcept* (B, C):\n    h()\nexcept* x.D[0] as e:\n    pass\nelse:\n    i()\nfinally:\n    j()\nk()",
    "without an end": "try:\n    raise A\nexcept* A as e:\n    raise B from e\nexcept* B:\n    raise",
    "only passes": "try:\n    f()\nexcept* A:\n    pass",
    "chosen type": "try:\n    f()\nexcept* A if a else B:\n    g()",
    "statements in clauses": "try:\n    f()\nexcept* A as e:\n    for i in e.exceptions:\n        if i:\n            continue\n        break\n    else:\n        g()\n    while h():\n        i()\nexcept* B:\n    with c as d:\n        d()",
    "nested": "try:\n    try:\n        f()\n    except* A as e:\n        try:\n            g(e)\n        except* B as e:\n            h(e)\n        except* C:\n            pass\n        finally:\n            i()\nexcept D as e:\n    try:\n        j()\n    except E:\n        pass\nfinally:\n    try:\n        k()\n    except* F:\n        l()",
    "in loops": "for i in a:\n    try:\n        if f(i):\n            continue\n        if g(i):\n            break\n        h()\n    except* A as e:\n        j(e)\n    else:\n        k()\nwhile b:\n    try:\n        f()\n        break\n    except* A:\n        g()",
    "in with": "with a as b:\n    try:\n        f()\n    except* A:\n        g()\nwith c:\n    try:\n        return f()\n    except* A as e:\n        g(e)\n    return h()",
    "name of a cell": "try:\n    f()\nexcept* A as e:\n    g(lambda: e)\nexcept* B as e:\n    e = None\n    del e",
    "in a generator": "try:\n    yield f()\nexcept* A as e:\n    yield e\nfinally:\n    yield from g()",
}
ASYNC_EXCEPTION_GROUPS = {
    "await": "async with a as b:\n    try:\n        await f()\n    except* A as e:\n        await g(e)\n        async for i in e:\n            yield i\n    else:\n        await h()\n    finally:\n        await i()",
}
COMPREHENSIONS = {
    "or not": "x = [i for i in y if 'a' in i or not i.b()]\nx = {i: j for i in y if not i.a() or 'b' in i for j in i if j and not i}",
    "one item": "x = [j for i in y for j in [f(i)]]\nx = {j: k for i in y if i for j, k in [(i, f(i))] if j}\nx = (j for i in y for j in [i])",
    "never": "x = (None for i in y if False)",
    "always": "x = [i for i in y if a(i) or True]\nx = {i: j for i in y for j in i if not i or (j or 1.5) if j}\nx = (i for i in y if i or 1)",
}
DISPLAYS = {
    "items behind mappings": "x = {**a, 'k': 1, **b, 'l': 2, 'm': 3}\nx = {'k': 1, **a}\nx = {**a, **{}}",
    "constants from conditions": "x = [1 or 1, 2, 3]\nx = {1 or 1, 2, 4}\nx = (0 and 0, 0)\nf([1, 2], {1, 2})",
}
COMPARISONS = {
    "chains": "f(a < b < c < d < e)\nx = a == b == c is not d in e or f(a) < b\nreturn a < b() < c < d",
}
CLASSES = {
    "names of its own": "class C:\n    __qualname__ = 'D'\n    __module__ = 'm'\n    __doc__ = 1\n    x = 2\n    __static_attributes__ = ('y',)",
    "module again": "class C(A):\n    __module__ = __name__\n    __qualname__ = 'C'\n    def m(self):\n        return super().m()",
}
RETURNS = {
    "behind with": "with a as b:\n    c = f(b)\n    d = g(c)\nreturn c, d",
    "break out of with": "while True:\n    f()\n    with a:\n        g()\n        break\n    h()\ni()",
}
UNREACHED = {
    "cells": "def g():\n    return h\nf(d)\nif 0:\n    def h():\n        return a, h\n    k = lambda: self.l(k)\nreturn 3",
    "constants before others": "if x:\n    return 1\nif 0:\n    def g(s):\n        return self\n    def h():\n        g(h)\nreturn 4",
    "variables": "v: int\nprint(v)\nif 0:\n    w = 1\ndel w",
    "returns": "try:\n    return f(a)\nfinally:\n    raise b",
    "free variables": "def g():\n    try:\n        f()\n        return x\n    finally:\n        while True:\n            h()\nreturn g",
    "walrus": "global g1\ndef h():\n    nonlocal x\n    global g1\n    [x := i for i in y], {g1 := i for i in y}\n    return x, g1\nreturn [a := i for i in y]",
    "generator": "return a\nyield",
    "names of comprehensions": "if False:\n    x = y = 0\n[x for x in a]\n[[y for y in b] for c in b]\nreturn x, lambda: y",
}
VALUES = {
    "yield as a test": "if (yield a):\n    f()\nelif (yield):\n    g()\nwhile (yield b):\n    h()",
    "nested and": "x = (a and b) and c\nreturn (a or b or c) or d and (x and y)",
    "value of a statement": "f()\na and b()",
    "value in a finally": "try:\n    return f()\nfinally:\n    a.done() or a.cancel()",
    "equal constants": "x = {1, 1, 2}, {1, 1.0, True}, {3}",
    "text at the begin": "f'no docstring'\nreturn a",
    "starred annotation": "def g(*args: *x): pass\nreturn g",
    "long elif": "if x == 0:\n    f(0)\n" + "".join(f"elif x == {i}:\n    f({i})\n" for i in range(150)),
}
PATTERNS = {
    "two names": "match x:\n    case (0 as a) as b:\n        f(a)\n    case [y as v, (c as d, *_) as e]:\n        g(v, e)\n    case (1 | 2) as a:\n        h()",
    "captures with guards": "match x:\n    case a if not b:\n        f(a)\n    case c if d(c):\n        g()\n    case y:\n        h(y)",
    "last case behind a guard": "match x:\n    case a if not a:\n        f()\n    case 0 if x:\n        g()\nmatch x:\n    case 0 if not (x := 1):\n        f()\n    case 1:\n        g()",
    "alternatives that bind in another order": "match x:\n    case [a, (b, c, d, 1) | (d, b, 2, c) |\n             (3, d, c, b), e]:\n        f(a, b, c, d, e)\n    case [\n            (a, b, 1) | (b, a)]:\n        g(a, b)",
    "alternatives that match everything": "match x:\n    case [y] | y:\n        f(y)\nmatch x:\n    case {'y': y} | y if y:\n        f(y)\n    case 1:\n        g()",
    "guards that hold": "match x:\n    case 1:\n        f()\n    case [y] | y if 1:\n        g(y)\n    case 2:\n        h()\nmatch x:\n    case 1:\n        f()\n    case y as z if 1:\n        g(y, z)\n    case 2:\n        h()",
}
# Syntax of Python 3.12.
TYPE_PARAMETERS = {
    "comprehensions over a parameter": "def f():\n    type A[T: [lambda: T for T in (T, [1])[1]]] = [lambda: T for T in T.__name__]\n    def g[T: None](x: T = None): return x\n    def h[T: [lambda: T for T in (T, [1])[1]]](): return [lambda: T for T in T.__name__]\n",
    "a comprehension over the parameter of its name": "def f():\n    def g[T](): return [lambda: T for T in T.x]\n",
    "classes in classes": "class A[T]:\n    class B:\n        def f[U](x: T): return U\n        type V[Y] = Y\n",
}
# Modules as a whole.
MODULES = {
    "loop at the end": "while a():\n    b()\n    if c:\n        raise d\n",
    "value at the end": "f()\n__name__ == '__main__' and f()\n",
    "items of __annotations__": "class C:\n    __annotations__['1'] = 1\n    x: int = 2\n",
    "annotated attribute": "class C:\n    a.b: int = 0\n",
    "unreached class": "'doc'\nfrom __future__ import annotations\nif True:\n    class C: pass\nelse:\n    class C:\n        x = 1\nf(5)\n",
}
ASYNC_UNREACHED = {"generator": "try:\n    await f()\nexcept A:\n    await g()\nreturn\nyield"}
BODIES = {
    **EXCEPTION_GROUPS,
    **COMPREHENSIONS,
    **DISPLAYS,
    **COMPARISONS,
    **CLASSES,
    **RETURNS,
    **UNREACHED,
    **VALUES,
    **PATTERNS,
}
ASYNC_BODIES = {**ASYNC_EXCEPTION_GROUPS, **ASYNC_UNREACHED}


def assert_comes_back(version: tuple[int, int], source: str) -> None:
    compiler = compiler_or_skip(version)
    record = _toolbox.decompile_marshal(compiler(source, 0), version, compiler, "", None, "", 1)
    assert record["verdict"] == "verified: same bytecode", f"{record['codes']}\n{source}\n{record['source']}"
    assert record["tier"] == 1, f"{record['codes']}\n{source}\n{record['source']}"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("statement", BODIES)
def test_statement(statement: str, version: tuple[int, int]) -> None:
    body = textwrap.indent(BODIES[statement], "    ")
    assert_comes_back(version, f"def f(self, a, b, c, d, x, y):\n{body}\n")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("statement", ASYNC_BODIES)
def test_asynchronous_statement(statement: str, version: tuple[int, int]) -> None:
    body = textwrap.indent(ASYNC_BODIES[statement], "    ")
    assert_comes_back(version, f"async def f(a, b, c):\n{body}\n")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("module", MODULES)
def test_module(module: str, version: tuple[int, int]) -> None:
    assert_comes_back(version, MODULES[module])


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize("module", TYPE_PARAMETERS)
def test_type_parameters(module: str, version: tuple[int, int]) -> None:
    assert_comes_back(version, TYPE_PARAMETERS[module])


def test_the_line_of_a_class_may_be_stored_in_a_variable_around_it() -> None:
    body = "__firstlineno__ = 1\n    class C:\n        nonlocal __firstlineno__\n        x = 1\n"
    assert_comes_back((3, 13), f"\n\ndef f():\n    {body}")


def test_the_time_for_except_star_clauses_grows_with_their_number() -> None:
    clauses = "".join(f" except* A{i} as e{i}:\n  g(e{i})\n" for i in range(2_000))
    code = compile(f"def f(g):\n try:\n  g()\n{clauses}", "<m>", "exec", 0, True)
    begin = time.process_time()
    result = suture.decompile(code, check=False)
    assert time.process_time() - begin < 1
    assert result.tier == 1
    assert result.source.count("except*") == 2_000


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("def f(a, b):\n    return a < b\n", b"\x6b\x02", b"\x6b\x00"),  # COMPARE_OP: the mask of <
        (
            "def f(a):\n    for x in a:\n        pass\n    return a\n",
            b"\x5d\x02",
            b"\x5d\x03",
        ),  # FOR_ITER: behind END_FOR
    ],
)
def test_arguments_that_the_interpreter_trusts_are_checked(source: str, old: bytes, new: bytes) -> None:
    version = (3, 12)
    compiler = compiler_or_skip(version)
    data = compiler(source, 0)
    assert data.count(old) == 1
    record = _toolbox.decompile_marshal(data.replace(old, new), version, compiler, "", None, "", 1)
    assert record["verdict"] == "unverified: not decompiled"
    same, reason = _toolbox.same_bytecode_marshal(data.replace(old, new), data, version)
    assert not same and reason


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("class A:\n    x = 1\n", "\n\nclass A:\n    x = 1\n", True),
        ("class A:\n    __firstlineno__ = 1\n", "\n\nclass A:\n    __firstlineno__ = 1\n", True),
        ("class A:\n    __firstlineno__ = 1\n", "class A:\n    __firstlineno__ = 2\n", False),
        ("__firstlineno__ = 1\n", "__firstlineno__ = 2\n", False),
    ],
)
def test_lines_of_classes_are_layout_and_those_a_program_stores_are_not(first: str, second: str, same: bool) -> None:
    version = (3, 13)
    compiler = compiler_or_skip(version)
    assert _toolbox.same_bytecode_marshal(compiler(first, 0), compiler(second, 0), version)[0] == same
