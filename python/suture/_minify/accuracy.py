"""Is a compiled result right? The one judge, for cases, minimiser, debug checks and `analyze`.

Overview
    Ops with one right result (ops.def: no ULP bound) must have NumPy's bits, reductions included. An op with a bound may be
    that far from the correctly rounded result. Behind such an op two right programs differ, and what they may differ by
    depends on how the program amplifies it. So the judge
      1. takes equal bits as right,
      2. takes any difference in an output that depends on no bounded op as wrong,
      3. else lets the program itself tell how far right results lie apart: NumPy runs it again and again with every bounded op
         off by as much as both sides may be, and every rounding behind it off by one (`perturbed`). A result is wrong when it is
         farther from NumPy's than kSafety times the farthest of these runs, and farther from the truth (the program in
         wider precision) than NumPy is. Values that flip in these runs (a comparison, an argmax, a NaN) are not judged.
    The third step is about whole programs and wide on purpose. taps.py judges every op on the values it was given, where
    nothing is amplified and bounds are those of the table.
Invariants
    - No program that keeps the table's bounds is called wrong in step 1 and 2; bench/accuracy.py measures step 3 and taps.
    - Integers and truth values are exact unless rounding can flip them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from suture._minify.difference import Difference, distance, type_difference, value_difference
from suture._minify.reference import Op, Program, op_rows, wide_dtype, widened
from suture._ulps import same_bits

SAFETY = 4.0
RUNS = 16  # perturbed runs: as many as it takes to explain a difference, and no more
SEED = 20_000

Fresh = Callable[[], list[Any]]  # inputs for one call, equal ones every time


def judge(
    program: Program, fresh: Fresh, results: Sequence[Any], inputs: Sequence[Any], fast: bool = False
) -> list[Difference]:
    """What is wrong with the `results` of a call that left its inputs as `inputs`. fast: numerics="fast", in which every
    rounding is free."""
    own = fresh()
    values = program.run(own, keep_all=False)
    pairs = [
        *_named("output", program.output_names, results, program.outputs(values)),
        *((f"input {i} after the call", name, inputs[i], own[i]) for i, name in enumerate(program.placeholders)),
    ]
    found, unsure = [], []
    for what, node, got, wanted in pairs:
        other = type_difference(what, got, wanted)
        if other:
            found.append(other)
        elif not _same(got, wanted, node in program.any_zero):
            free = fast or node in program.tainted
            unsure.append((what, node, got, wanted)) if free else found.append(value_difference(what, got, wanted, 0.0))
    return found + _unexplained(program, fresh, unsure, fast)


def _same(got: Any, wanted: Any, any_zero: bool) -> bool:
    a, b = np.asarray(got), np.asarray(wanted)
    return same_bits(a, b) or (any_zero and bool(np.array_equal(a, b, equal_nan=b.dtype.kind in "fc")))


def _named(
    word: str, nodes: Sequence[str], got: Sequence[Any], wanted: Sequence[Any]
) -> list[tuple[str, str, Any, Any]]:
    rows = zip(nodes, got, wanted, strict=True)
    return [(f"{word} {i}", node, mine, right) for i, (node, mine, right) in enumerate(rows)]


# --- how far right results lie apart --------------------------------------------------------------------------------------


class _Spread:
    """Of one result over the perturbed runs, in ULP of NumPy's; inf where it flips."""

    def __init__(self, wanted: Any) -> None:
        self.wanted = np.asarray(wanted)
        self.ulp = np.zeros(self.wanted.shape)

    def add(self, value: Any) -> None:
        with np.errstate(all="ignore"):
            self.ulp = np.maximum(self.ulp, distance(np.asarray(value), self.wanted))

    def allowed(self) -> np.ndarray:
        floats = self.wanted.dtype.kind in "fc"
        return SAFETY * self.ulp + 1.0 if floats else np.where(self.ulp > 0, np.inf, 0.0)


def _unexplained(
    program: Program, fresh: Fresh, unsure: list[tuple[str, str, Any, Any]], fast: bool
) -> list[Difference]:
    unsure = [row for row in unsure if not _within_one(row[2], row[3])]
    if not unsure:
        return []
    spreads = [_Spread(wanted) for _, _, _, wanted in unsure]
    left = list(range(len(unsure)))
    for number in range(RUNS):
        values = _values_of(program, fresh, unsure, after=Perturbed(program, SEED + number, fast))
        for spread, value in zip(spreads, values, strict=True):
            spread.add(value)
        left = [i for i in left if _is_far(unsure[i][2], spreads[i]).any()]
        if not left:
            return []
    truth = _values_of(program, fresh, unsure, wide=True)
    left = [i for i in left if _is_farther(unsure[i][2], spreads[i], np.asarray(truth[i]))]
    return [value_difference(unsure[i][0], unsure[i][2], unsure[i][3], spreads[i].allowed()) for i in left]


def _within_one(got: Any, wanted: Any) -> bool:
    """No more than one ULP apart, which is always allowed."""
    b = np.asarray(wanted)
    return b.dtype.kind in "fc" and bool((distance(np.asarray(got), b) <= 1).all())


def _values_of(
    program: Program, fresh: Fresh, wanted: list[tuple[str, str, Any, Any]], wide: bool = False, after: Any = None
) -> list[Any]:
    """Of these results in one more run: outputs by their node, inputs as the run left them."""
    values = program.run(fresh(), wide=wide, after=after, keep_all=False)
    return [values[node] for _, node, _, _ in wanted]


def _is_far(got: Any, spread: _Spread) -> np.ndarray:
    """Per element: farther from NumPy's value than right ones are from each other."""
    with np.errstate(all="ignore"):
        return np.asarray(distance(np.asarray(got), spread.wanted) > spread.allowed())


def _is_farther(got: Any, spread: _Spread, truth: np.ndarray) -> bool:
    """Some element that is far is farther from the truth than NumPy's own error explains."""
    a, b = np.asarray(got), spread.wanted
    far = _is_far(got, spread)
    if b.dtype.kind not in "fc":
        return bool(far.any())
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(b)).astype(wide_dtype(np.abs(b).dtype))
        mine, numpys = np.abs(widened(a) - truth) / unit, np.abs(widened(b) - truth) / unit
        return bool((far & ~(mine <= 2 * numpys + spread.allowed())).any())


# --- perturbed runs -------------------------------------------------------------------------------------------------------

_SUMS = frozenset({"sum", "mean", "matmul", "dot"})
_PRODUCTS = frozenset({"prod", "var", "std"})


class Perturbed:
    """For Program.run: bounded ops off by up to twice their bound (both sides may err), roundings behind them by one.

    A sum of n terms rounds n times; its parts are as large as the sum of the absolute values, which scales the error."""

    def __init__(self, program: Program, seed: int, fast: bool = False) -> None:
        self._program, self._rng, self._fast = program, np.random.default_rng(seed), fast

    def __call__(self, op: Op, value: Any, values: Any) -> Any:
        array = np.asarray(value)
        if array.dtype.kind not in "fc" or op.kind in ("View", "Effect"):
            return value
        if not self._fast and op.name not in self._program.tainted:
            return value
        row = op_rows()[op.op]
        if not op.bound and row["signals"] == "Never":  # moves values, rounds nothing
            return value
        with np.errstate(all="ignore"):
            return _replaced(value, array + self._error(op, array, values))

    def _error(self, op: Op, array: np.ndarray, values: Any) -> Any:
        given = [values[name] for name in self._program.operands(op)]
        terms = max([np.size(value) for value in given], default=1) / max(array.size, 1)
        roundings = math.ceil(2 + math.sqrt(terms) / 2)  # of a sum or product of so many terms; they go either way
        if op.op in _SUMS:
            scale = np.abs(self._program.run_op(op, [np.abs(value) for value in given]))
            return self._rng.uniform(-roundings, roundings, array.shape) * np.spacing(scale.astype(array.dtype))
        steps = max(2 * int(op.bound), 2 * roundings if op.op in _PRODUCTS else 1)
        unit = np.where(np.isfinite(array), np.spacing(np.abs(array)), 0)
        return self._rng.integers(-steps, steps + 1, array.shape) * unit


def _replaced(value: Any, data: np.ndarray) -> Any:
    """`data` in place of `value`: in its memory, or as a number of its type."""
    if isinstance(value, np.ndarray):
        value[...] = data
        return value
    return type(value)(data[()])
