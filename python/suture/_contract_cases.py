"""Programs for the contract tests of backends: one op each where that is possible, so that a graph that fails is small.

CASES is made from the op table, so a new op has cases at once; what the table cannot say (layouts, aliases, mutation, sizes)
is listed by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suture import _core

Inputs = tuple[Any, ...]


class Case(NamedTuple):
    """A program and how it is called."""

    name: str
    function: Callable[..., Any]
    inputs: Callable[[int], Inputs]  # of the n-th call: the same types, other values
    ulp: int = 0  # that two correct results may be apart
    dynamic: bool | None = None
    raises: str = ""  # np.errstate(all=...)
    threads: bool = False


def _program(text: str) -> Callable[..., Any]:
    return eval(text, {"np": np})


def _values(dtype: str, call: int, shape: tuple[int, ...] = (2, 3)) -> np.ndarray:
    """Numbers for which every op is defined: floats in (0, 1), other than the call before."""
    rng = np.random.default_rng([call, *shape, len(dtype)])
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.uniform(0.05, 0.95, shape).astype(dtype)
    return rng.integers(1, 6, shape).astype(dtype)


DTYPES = ("float64", "float32", "int64", "uint8", "bool")


def _accepts(name: str, function: Callable[..., Any], arguments: Inputs) -> bool:
    """NumPy has a loop for these dtypes, and none of float16, which is not compiled."""
    ufunc = getattr(np, name.removeprefix("np."), None)
    try:
        if isinstance(ufunc, np.ufunc):
            dtypes = ufunc.resolve_dtypes((*(each.dtype for each in arguments), *[None] * ufunc.nout))
            return np.dtype(np.float16) not in dtypes
        return np.asarray(function(*arguments)).dtype != np.float16
    except TypeError:
        return False


def _by_dtype(name: str, text: str, arity: int, ulp64: int, ulp32: int, domain: float = 0.0) -> Iterator[Case]:
    function = _program(text)
    for dtype in DTYPES:

        def inputs(call: int, dtype: str = dtype) -> Inputs:
            return tuple(_values(dtype, 7 * call + i) + np.array(domain).astype(dtype) for i in range(arity))

        if _accepts(name, function, inputs(0)):
            ulp = ulp32 if dtype in ("float32", "uint8", "bool") else ulp64
            yield Case(f"{name}, {dtype}", function, inputs, 2 * ulp)


# Elementwise ops that need more than arrays.
_SPECIAL = {
    "clip": "lambda x: np.clip(x, 0, 1)",
    "where": "lambda x, y: np.where(x > y, x, y)",
    "copy": "lambda x: x.copy()",
    "round": "lambda x: np.round(x, 1)",
}
_DOMAIN = {"arccosh": 1.0}  # beyond (0, 1)


def _elementwise() -> Iterator[Case]:
    for op in _core.op_table():
        if op["kind"] != "Elementwise" or not op["numpy"]:
            continue
        arity = 2 if op["name"] == "where" else 1 if op["name"] in _SPECIAL else op["arity"]
        names = ", ".join("xyz"[:arity])
        text = _SPECIAL.get(op["name"], f"lambda {names}: {op['numpy']}({names})")
        yield from _by_dtype(op["numpy"], text, arity, op["ulp64"], op["ulp32"], _DOMAIN.get(op["name"], 0.0))
    for dtype in ("float32", "int64", "bool"):
        yield from _by_dtype(f"astype {dtype}", f"lambda x: x.astype(np.{dtype.replace('bool', 'bool_')})", 1, 0, 0)


def _reductions() -> Iterator[Case]:
    for op in _core.op_table():
        if op["kind"] != "Reduce":
            continue
        for arguments in ("", "axis=0", "axis=1", "axis=0, keepdims=True"):
            text = f"lambda x: {op['numpy']}(x{', ' + arguments if arguments else ''})"
            name = f"{op['numpy']}({arguments})"
            yield from (case for case in _by_dtype(name, text, 1, 0, 0) if not case.name.endswith("uint8"))
    big = _program("lambda x: x.sum(axis=-1)")
    yield Case("sum over many elements", big, lambda call: (_values("float64", call, (3, 5000)),))


def _listed(group: str, shape: tuple[int, ...], texts: tuple[str, ...], arrays: int = 1, **more: Any) -> Iterator[Case]:
    for text in texts:
        names = ", ".join("xyz"[:arrays])

        def inputs(call: int) -> Inputs:
            return tuple(_values("float64", 5 * call + i, shape) for i in range(arrays))

        yield Case(f"{group}: {text}", _program(f"lambda {names}: {text}"), inputs, **more)


_VIEWS = (
    "x[1:]",
    "x[:, ::-1]",
    "x[1]",
    "x[None, :, 1:]",
    "x.T",
    "x.reshape(2, 6)",
    "x.T.reshape(12)",
    "np.expand_dims(x, 1)",
    "np.squeeze(x[1:2])",
    "np.broadcast_to(x, (2, 4, 3))",
)
_CREATED = (
    "(x + 1, np.zeros((2, 3)))",
    "(x + 1, np.full((2,), 7, dtype=np.int64))",
    "(x + 1, np.ones_like(x))",
    "(x + 1, np.arange(5))",
    "(x + 1, np.arange(0.0, 1.0, 0.25))",
    "(x + 1, np.linspace(0.0, 1.0, 5))",
)
_SCALARS = ("x * 2", "x * 2.5", "x * np.float32(3)", "x[1, 1] * 2.0", "x.sum() / x.size", "x.mean() > 0.5")
_SEVERAL = (
    "(x + 1, x * 2)",
    "(x + 1, x[1:])",
    "(x + 1, (x + 1).sum())",
    "np.sin(x + 1) * x - x.mean(axis=0)",
    "(x - x.mean()) / x.std()",
    "np.where(x > x.mean(), np.sqrt(x), -x)",
)


def _one(make: Callable[[int], np.ndarray], call: int) -> Inputs:
    return (make(call),)


def _with_number(number: Any, call: int) -> Inputs:
    return _values("float32", call), number


def _layouts() -> Iterator[Case]:
    made: dict[str, Callable[[int], np.ndarray]] = {
        "rows in Fortran order": lambda call: np.asfortranarray(_values("float64", call, (3, 4))),
        "every second element": lambda call: _values("float64", call, (6, 8))[::2, ::2],
        "negative strides": lambda call: _values("float64", call, (3, 4))[::-1, ::-1],
        "axes swapped": lambda call: _values("float64", call, (2, 3, 4)).transpose(2, 0, 1),
        "read-only, broadcast": lambda call: np.broadcast_to(_values("float64", call, (4,)), (3, 4)),
        "0-d": lambda call: _values("float64", call, ()),
        "empty": lambda call: _values("float64", call, (0, 4)),
        "one element": lambda call: _values("float64", call, (1, 1)),
        "axes of size 1": lambda call: _values("float64", call, (1, 4, 1)),
    }
    for layout, make in made.items():
        for text in ("x + 1", "np.sqrt(x)", "x.sum(axis=0) if x.ndim else x.sum()", "x.T"):
            yield Case(f"{layout}: {text}", _program(f"lambda x: {text}"), partial(_one, make))


def _stores() -> Iterator[Case]:
    def written(x: Any, y: Any) -> Any:
        x[...] = y * 2

    def part(x: Any, y: Any) -> Any:
        x[1:] = y[:-1]
        return x + y

    def in_place(x: Any, y: Any) -> Any:
        x += y
        x *= 2
        return x

    def out(x: Any, y: Any) -> Any:
        np.multiply(x, y, out=x)
        return x.sum()

    def through_a_view(x: Any, y: Any) -> Any:
        row = x[1]
        row += 1
        return x - y

    def fresh(x: Any, y: Any) -> Any:
        z = np.zeros((3, 4))
        z[1] = x[0]
        return z + y

    def empty(x: Any, y: Any) -> Any:
        z = np.empty((3, 4))
        z[...] = x
        return z - y

    def masked(x: Any, y: Any) -> Any:
        x[x > 0.5] = 0
        return x + y

    for function in (written, part, in_place, out, through_a_view, fresh, empty, masked):
        name = function.__name__.replace("_", " ")
        yield Case(
            f"store: {name}", function, lambda call: tuple(_values("float64", 5 * call + i, (3, 4)) for i in (0, 1))
        )


def _sizes() -> Iterator[Case]:
    """Symbols: the n-th call has other sizes, and no further graph is made."""
    for text in (
        "x + 1",
        "x.sum(axis=0)",
        "np.sin(x) * x[0]",
        "x.mean()",
        "x[1:].T",
        "x + np.ones(x.shape)",
        "x.reshape(-1)",
    ):
        yield Case(
            f"symbolic sizes: {text}",
            _program(f"lambda x: {text}"),
            lambda call: (_values("float64", call, (4 + call, 5 + 2 * call)),),
            4,
            dynamic=True,
        )
    yield Case(
        "symbolic int", _program("lambda x, n: x * n"), lambda call: (_values("float64", call), 4 + call), dynamic=True
    )


def _numbers() -> Iterator[Case]:
    for number in (2.5, 3, True, np.float32(1.5), np.int8(3)):
        name = f"number: {type(number).__name__}"
        yield Case(name, _program("lambda x, n: x * n"), partial(_with_number, number))


# Without a number in it, and an op each: a backend that does few graphs itself, and hands on those with numbers, does these.
_PLAIN_OF_TWO, _PLAIN_OF_ONE = ("x / y", "x * y"), ("np.log(x)", "np.exp(x)")


def _conditions() -> Iterator[Case]:
    """Each call of a program gives conditions."""
    zeros = lambda call: (np.array([0.0, 1.0, float(call)]),)  # noqa: E731
    # log of 0 and of -1; exp that overflows and that underflows.
    edges = lambda call: (np.array([0.0, -1.0, 1000.0 + call, -1000.0]),)  # noqa: E731
    # 0 / 0 and 1 / 0; products that overflow and that underflow.
    pairs = lambda call: (np.array([0.0, 1.0 + call, 1e200, 1e-200]), np.array([0.0, 0.0, 1e200, 1e-200]))  # noqa: E731
    programs: list[tuple[str, str, Callable[[int], Inputs]]] = [
        *(("x", text, zeros) for text in ("1 / x", "np.log(x - 0.5)", "np.exp(x * 1000)")),
        *(("x", text, edges) for text in _PLAIN_OF_ONE),
        *(("x, y", text, pairs) for text in _PLAIN_OF_TWO),
    ]
    for mode in ("warn", "raise"):
        for names, text, inputs in programs:
            yield Case(f"conditions ({mode}): {text}", _program(f"lambda {names}: {text}"), inputs, 4, raises=mode)


def all_cases() -> list[Case]:
    """Every case, small graphs first within each group."""
    cases = [*_elementwise(), *_reductions()]
    for group, texts in (("view", _VIEWS),):
        cases += _listed(group, (4, 3), texts)
    cases += _listed("creation", (2, 3), _CREATED)
    cases += _listed("scalars", (2, 3), _SCALARS)
    cases += _listed("several", (4, 3), _SEVERAL, ulp=4)
    cases += _listed("contraction", (3, 3), ("x @ y", "np.dot(x, y[0])"), arrays=2, ulp=16)
    cases += [*_layouts(), *_stores(), *_numbers(), *_sizes(), *_conditions()]
    cases += _listed("threads", (40, 30), ("np.sin(x) * x + 1", "x.sum(axis=1)"), ulp=4, threads=True)
    cases += _listed("threads", (400, 30), _PLAIN_OF_ONE, ulp=4, threads=True)
    cases += _listed("threads", (400, 30), _PLAIN_OF_TWO, arrays=2, ulp=4, threads=True)
    return cases
