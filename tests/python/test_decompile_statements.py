"""Every statement of the language, in the contexts that change its bytecode: source -> code -> source -> the same bytecode."""

from __future__ import annotations

import heapq
import shlex
import sys
import textwrap
import types
import typing

import pytest

import suture

# Nothing here is run or compiled by suture.compile: 0 frames.

STATEMENTS = {
    "assignment": "a = b = f(x)\na, b = b, a\na, b, c = c, b, a\n(a, *b), c[0] = x\nself.p, self.q = x, y",
    "augmented": "a += 1\nself.p -= f(x)\nx[i] *= 2\nx[i:j] @= y",
    "conditions": "if a and b or not c:\n    f()\nelif a < b <= c != d:\n    g()\nelse:\n    h()",
    "boolean values": "x = a and b or c\ny = (a or b) and (c if d else e)\nz = not (a and b)\nw = a < b < c or d",
    "walrus": "if (n := f(x)) is not None and n > 3:\n    g(n)\nwhile (line := read()):\n    h(line)",
    "while": "while a and b:\n    if f(x):\n        continue\n    if g(x):\n        break\n    h()\nelse:\n    i()\nj()",
    "while true": "while True:\n    if a:\n        return b\n    if c:\n        f()\n        break\ng()",
    "for": "for i, (j, *k) in x:\n    if i:\n        continue\n    for m in j:\n        if m:\n            break\n    else:\n        f()\nelse:\n    g()",
    "return in loops": "for i in x:\n    for j in i:\n        if j:\n            return f(i, j)\n    while i:\n        return i",
    "try": "try:\n    f()\nexcept (A, B) as e:\n    g(e)\nexcept C:\n    pass\nexcept:\n    h()\nelse:\n    i()\nfinally:\n    j()",
    "try in loops": "for i in x:\n    try:\n        f(i)\n    except A:\n        continue\n    except B as e:\n        break\n    else:\n        g()\n    h()",
    "finally with returns": "for i in x:\n    try:\n        if a:\n            return f(i)\n        if b:\n            break\n        if c:\n            continue\n    finally:\n        if d:\n            g()\n        h()",
    "finally that leaves": "while a:\n    try:\n        f()\n    finally:\n        if b:\n            break\n        if c:\n            return 1",
    "nested finally": "try:\n    try:\n        return f()\n    finally:\n        g()\nfinally:\n    try:\n        h()\n    except A as e:\n        i(e)",
    "with": "with a as b, c:\n    if b:\n        return f(b)\n    g()\nh()",
    "with in loops": "for i in x:\n    with i as (j, k):\n        if j:\n            break\n        if k:\n            continue\n        f()\n    g()",
    "match": "match x:\n    case 1 | 2:\n        f()\n    case None | True:\n        g()\n    case [a, b, *c] if a > b:\n        h(c)\n"
    "    case {'k': [p, _], **rest}:\n        i(p, rest)\n    case A.B(q, r=1 | 2 as s) as whole:\n        j(q, s, whole)\n    case _:\n        k()",
    "match in loops": "for i in x:\n    match i:\n        case [a]:\n            break\n        case b if b > 0:\n            continue\n        case 'y':\n            f()",
    "comprehensions": "x = [i for i in y if i if not j]\nz = {i: j for i, j in y for k in j if k or i}\nw = {i for i in (j for j in x)}\nv = [[k for k in i] for i in x]",
    "calls": "f(a, *b, c=1, **d)\nf(**{'a.b': 1})\nf(*a, *b)\nx.m(1)(2)[3].n(k=4)\nprint(f'{a!r:>{b}} {c} {{}}')",
    "slices": "a[1:2] = b\ndel a[:], c.d, e\nx = a[::2, 1:]\ny = a[b:c]",
    "imports": "import a, b.c, d.e as f\nfrom . import g\nfrom ..h import i as j, k",
    "assert and raise": "assert a, b\nassert not (c and d)\nif x:\n    raise A\nraise B(1) from c",
    "functions": "def g(a, /, b=1, *c, d, e=2, **k) -> int:\n    'doc'\n    nonlocal x\n    x = a\n    return lambda q, r=b: q if r else x\nx = 1\nreturn g",
    "classes": "@d(1)\nclass C(A, metaclass=M):\n    'doc'\n    y: int = 3\n    def m(self):\n        return super().m(self.__p, __class__)\nreturn C",
    "generators": "y = yield 1\nyield from f()\nz = [(yield), 2]\nreturn y",
    "globals": "global g1, g2\ng1 = 1\ndel g2",
    "empty bodies": "if a:\n    pass\nwhile b:\n    pass\nfor i in c:\n    pass\nwith d:\n    pass\ntry:\n    e()\nexcept:\n    pass",
}
ASYNC_STATEMENTS = {
    "await": "x = await f(await g())\nreturn [await i for i in x]",
    "async for": "async for i in x:\n    if i:\n        break\n    await f(i)\nelse:\n    g()",
    "async with": "async with a as b, c:\n    if b:\n        return await f(b)\nd()",
    "async comprehensions": "return [i async for i in x if await f(i)], {i: j async for i, j in y}, (k async for k in z)",
    "async in try": "try:\n    await f()\nexcept A:\n    return await g()\nfinally:\n    await h()",
}
CONTEXTS = {
    "plain": "{body}",
    "in a branch": "if cond:\n{indented}\nelse:\n    other()\nlast()",
    "in a for loop": "for item in items:\n{indented}\n    more(item)\n",
    "in a while loop": "while cond:\n    begin()\n{indented}",
    "in a try": "try:\n{indented}\nexcept Error as error:\n    handle(error)\n",
    "in a handler": "try:\n    risky()\nexcept Error:\n{indented}\nlast()",
    "in a finally": "try:\n    risky()\nfinally:\n{indented}\n",
    "in a with": "with manager as entered:\n{indented}\nlast()",
}
# `break` and `continue` of their own loops only; a return inside these is fine everywhere. Nothing but names is loaded.


def function_source(body: str, context: str, header: str) -> str:
    placed = context.format(body=body, indented=textwrap.indent(body, "    "))
    return header + "\n" + textwrap.indent(placed, "    ") + "\n"


def assert_comes_back(source: str) -> None:
    code = compile(source, "<statements>", "exec", dont_inherit=True)
    result = suture.decompile(code)
    different = [
        (item.qualname, item.tier, item.verdict) for item in result.codes if not item.verdict.startswith("verified")
    ]
    assert not different, f"{different}\n{source}\n{result.source}"
    again = compile(result.source, "<again>", "exec", dont_inherit=True)
    assert suture.same_bytecode(code, again), f"{source}\n{result.source}"
    assert result.tier == 1, f"tier {result.tier}\n{source}\n{result.source}"


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_statement(statement: str, context: str) -> None:
    if statement == "functions":
        source = "def outer():\n    x = 0\n" + textwrap.indent(
            function_source(STATEMENTS[statement], CONTEXTS[context], "def f(a, b, c):"), "    "
        )
    else:
        source = function_source(STATEMENTS[statement], CONTEXTS[context], "def f(self, a, b, c, d, x, y):")
    assert_comes_back(source)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("statement", ASYNC_STATEMENTS)
def test_asynchronous_statement(statement: str, context: str) -> None:
    assert_comes_back(function_source(ASYNC_STATEMENTS[statement], CONTEXTS[context], "async def f(a, b, c, x, y, z):"))


def test_module_and_class_bodies() -> None:
    assert_comes_back(
        "'doc'\nfrom __future__ import annotations\nx: int = 1\nfor i in range(3):\n    y = i\n"
        "class C:\n    if x:\n        z: 'text'\n    else:\n        def z(self): pass\n"
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters() -> None:
    assert_comes_back("def f[T: int, *Ts, **P](x: T = 1) -> T: ...\nclass C[T](A): ...\ntype X[T] = list[T]\n")


@pytest.mark.parametrize("module", [heapq, shlex, textwrap, typing], ids=lambda module: module.__name__)
def test_functions_of_a_module(module: types.ModuleType) -> None:
    functions = [value for value in vars(module).values() if isinstance(value, types.FunctionType)]
    assert len(functions) >= 3
    for function in functions:
        assert suture.decompile(function).verdict == "verified: same bytecode", function


def test_tests_have_as_few_nots_as_possible() -> None:
    lines = ("if a is not None and b <= 0:", "assert not a or a < 3", "if a or not b:")
    text = f"def f(a, b):\n    {lines[0]}\n        g()\n    {lines[1]}\n    {lines[2]}\n        h()\n"
    space: dict[str, object] = {}
    exec(text, space)
    source = suture.decompile(space["f"]).source
    for line in lines:
        assert f"    {line}\n" in source


READS_AS_WRITTEN = {
    "test of a loop": "while a and b or c:\n    f()\nwhile a and (b or c) and d or e:\n    f()",
    "continue": "for x in a:\n    if x:\n        continue\n    if not b:\n        continue\n    f(x)\n    if c or d:\n        continue\n    if e:\n        g(x)\n    elif h:\n        i(x)\nwhile a:\n    if b:\n        continue\n    f()",
    "else between clauses that leave and finally": "for x in a:\n    try:\n        f(x)\n    except A:\n        continue\n    except B:\n        raise\n    else:\n        g(x)\n        h()\n    finally:\n        i()",
}


@pytest.mark.parametrize("name", READS_AS_WRITTEN)
def test_statements_read_as_they_were_written(name: str) -> None:
    text = function_source(READS_AS_WRITTEN[name], "plain", "def f(a, b, c, d, e):")
    result = suture.decompile(compile(text, "<text>", "exec"))
    assert result.verdict == "verified: same bytecode"
    assert result.source.strip() == text.strip()
