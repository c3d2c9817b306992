#!/usr/bin/env python3
"""Writes the inputs that fuzzing starts from: make_corpus.py DIRECTORY (one directory per target is made inside).

Code objects come from the small programs below, compiled by the running interpreter.
"""

import importlib.util
import marshal
import sys
from pathlib import Path

PROGRAMS = [
    "x = 1",
    "def f(a, b=2, *c, d, **e):\n    'doc'\n    return a + b if a < b else [a, b, *c]\n",
    "def f(x):\n    for i in x:\n        if i:\n            continue\n        while i and x:\n            i -= 1\n    else:\n        return 1.5\n",
    "def f(x):\n    try:\n        x()\n    except (KeyError, ValueError) as e:\n        raise e\n    finally:\n        x.y = 1\n",
    "def f(x):\n    with x as y, y:\n        yield y\n    yield from x\n",
    "async def f(x):\n    async with x:\n        async for i in x:\n            await i\n    return [j async for j in x]\n",
    "class C(B, k=1):\n    a: int = 3\n    def f(self):\n        return super().f(), __class__\n    @property\n    def g(self): return {1, 2}, 2**70, b'x', 1j, ...\n",
    "def f(a):\n    def g(b):\n        nonlocal a\n        a, b = b, a\n        return lambda: (a, b)\n    return {k: v for k, v in g(a) if k}, [*a], {**a}, f'{a!r:>{a}} {a}'\n",
    "def f(x):\n    match x:\n        case [1, *y]: return y\n        case {'a': z, **w}: return z, w\n        case C(q=1) | None: return x\n        case _: del x\n    assert x, x\n",
    "from a.b import c as d, e\nimport q.r\nglobal s\ns = d[e:q, ..., ::2]\ns[0] += 1\ntry:\n    s()\nexcept* E:\n    pass\n",
]


def main() -> None:
    root = Path(sys.argv[1])
    version = bytes([sys.version_info[1] - 11])
    for name in ("marshal", "pyc", "verify", "decompile"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for number, program in enumerate(PROGRAMS):
        code = marshal.dumps(compile(program, "p.py", "exec"))
        file = f"python{sys.version_info[0]}.{sys.version_info[1]}-{number}"
        (root / "marshal" / file).write_bytes(version + code)
        for how in range(12):
            (root / "decompile" / f"{file}-{how}").write_bytes(bytes([how]) + version + code)
        (root / "pyc" / file).write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + code)
        function = next((c for c in compile(program, "p.py", "exec").co_consts if hasattr(c, "co_code")), None)
        if function is not None:
            (root / "verify" / file).write_bytes(bytes([0, 0, 9, 1, 0, 0, 0, 0]) + version + marshal.dumps(function))


main()
