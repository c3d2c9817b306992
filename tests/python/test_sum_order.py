"""The order in which NumPy adds floats, as src/graph/sum_order.cpp models it, checked against NumPy bit for bit.

The model here is a second, independent writing of the rules in src/graph/sum_order.h: axes sorted by stride, neighbours
merged, the innermost reduced run summed pairwise, gathered or converted runs cut at the iterator's buffer.
"""

import numpy as np
import pytest

import suture
from tests.support.oracle import check, frames_compiled

BUFFER = 8192
NUMPY_MINOR = int(np.__version__.split(".")[1])


def pairwise(x):
    n = len(x)
    if n < 8:
        total = x.dtype.type(-0.0)
        for value in x:
            total = total + value
        return total
    if n <= 128:
        whole = n - n % 8
        lanes = x[:8].copy()
        for start in range(8, whole, 8):
            lanes = lanes + x[start : start + 8]
        total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
        for value in x[whole:]:
            total = total + value
        return total
    half = n // 2
    half -= half % 8
    return pairwise(x[:half]) + pairwise(x[half:])


def inner_first(a):
    """Axes from the innermost of NumPy's loops to the outermost: a stable insertion sort that skips zero strides."""
    order = []
    for axis in reversed(range(a.ndim)):
        position = len(order)
        for i in reversed(range(len(order))):
            mine, other = (a.strides[k] if a.shape[k] != 1 else 0 for k in (axis, order[i]))
            if mine == 0 or other == 0:
                continue
            if abs(other) <= abs(mine):
                break
            position = i
        order.insert(position, axis)
    return order


def merged(a, order, axes):
    """[extent, stride, reduced] of the loops after merging contiguous neighbours."""
    loops = []
    for axis in order:
        if a.shape[axis] == 1:
            continue
        if loops and loops[-1][2] == (axis in axes) and loops[-1][0] * loops[-1][1] == a.strides[axis]:
            loops[-1][0] *= a.shape[axis]
        else:
            loops.append([a.shape[axis], a.strides[axis], axis in axes])
    return loops


def run_and_chunk(loops, converted):
    """Number of innermost loops that form a run, and the chunk at which the run is cut (None: not at all)."""
    cost = best_cost = 2 if converted else 1
    size = best_size = loops[0][0]
    core, best, kept_at = 1, 0, None
    operand_merges = result_merges = True
    for dim in range(1, len(loops)):
        if kept_at is not None or (size >= BUFFER and cost > 1):
            break
        if operand_merges and loops[dim - 1][0] * loops[dim - 1][1] != loops[dim][1]:
            operand_merges = False
            cost += not converted
        if not loops[dim][2]:
            cost += result_merges
            result_merges = False
            kept_at = dim
        inner, size = size, size * loops[dim][0]
        limited = BUFFER if size > BUFFER and cost > 1 else size
        if cost * best_size <= best_cost * limited:
            best, best_cost, best_size, core = dim, cost, size, inner
    if kept_at is not None and best == kept_at:
        return best, BUFFER if converted else None
    if not (converted or best) or best_size <= BUFFER:
        return best + 1, None
    return best + 1, core * (BUFFER // core)


def model_sum(a, axes, dtype):
    order = inner_first(a)
    loops = merged(a, order, axes)
    converted = a.dtype != dtype
    kept = [axis for axis in range(a.ndim) if axis not in axes]
    shape = [a.shape[axis] for axis in kept]
    slots = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    walk = order[::-1]
    slot_of = np.broadcast_to(np.expand_dims(slots, axes), a.shape).transpose(walk).reshape(-1)
    values = a.transpose(walk).reshape(-1).astype(dtype)
    total = np.zeros(slots.size, dtype)
    if not loops or not loops[0][2]:
        width = loops[0][0] if loops else 1
        for start in range(0, values.size, width):
            total[slot_of[start : start + width]] += values[start : start + width]
        return total.reshape(shape)
    depth, chunk = run_and_chunk(loops, converted)
    length = int(np.prod([loop[0] for loop in loops[:depth]]))
    for start in range(0, values.size, length):
        for first in range(start, start + length, chunk or length):
            piece = values[first : min(first + (chunk or length), start + length)]
            total[slot_of[first]] += pairwise(piece)
    return total.reshape(shape)


def random_array(rng):
    rank = int(rng.integers(1, 5))
    shape = [int(rng.choice([1, 2, 3, 5, 8, 9, 17] + ([40, 129, 300] if rank < 4 else []))) for _ in range(rank)]
    if rng.random() < 0.4:
        shape[rng.integers(rank)] = int(rng.choice([1000, 4096, 8192, 9000, 20000]))
    a = rng.standard_normal(shape).astype(rng.choice(["f4", "f8"])).transpose(rng.permutation(rank))
    if rng.random() < 0.5:
        a = a.copy(order="K")
    if rng.random() < 0.5:
        a = a[tuple(slice(None, None, int(rng.choice([1, 1, 2, -1, -2]))) for _ in range(rank))]
    return a


@pytest.mark.skipif(NUMPY_MINOR < 3, reason="the gathered case is modelled from NumPy 2.3 on")
@pytest.mark.parametrize("seed", range(4))
def test_numpy_adds_in_the_order_the_compiler_assumes(seed):
    rng = np.random.default_rng(seed)
    checked = 0
    while checked < 25:
        a = random_array(rng)
        if not 0 < a.size < 60_000:
            continue
        count = a.ndim if rng.random() < 0.5 else int(rng.integers(1, a.ndim + 1))
        axes = tuple(sorted(int(k) for k in rng.choice(a.ndim, count, replace=False)))
        dtype = np.dtype("f8") if rng.random() < 0.4 else a.dtype
        expected = np.add.reduce(a, axis=axes, dtype=dtype)
        np.testing.assert_array_equal(
            model_sum(a, axes, dtype), expected, err_msg=f"{a.shape} {a.strides} {axes} {dtype}"
        )
        checked += 1


def repeated(a, rng):
    """Now and then a broadcast view: an axis with stride 0 compares with no other."""
    if rng.random() < 0.3:
        axis = int(rng.integers(a.ndim + 1))
        shape = list(a.shape)
        shape.insert(axis, int(rng.choice([1, 2, 5])))
        return np.broadcast_to(np.expand_dims(a, axis), shape)
    return a


@pytest.mark.skipif(NUMPY_MINOR < 3, reason="the gathered case is left to NumPy before 2.3")
@pytest.mark.parametrize("seed", range(6))
def test_kernels_and_the_interpreter_add_in_numpys_order(seed):
    rng = np.random.default_rng(100 + seed)
    checked = 0
    while checked < 8:
        a = repeated(random_array(rng), rng)
        if not 0 < a.size < 60_000:
            continue
        count = a.ndim if rng.random() < 0.4 else int(rng.integers(1, a.ndim + 1))
        axes = tuple(sorted(int(k) for k in rng.choice(a.ndim, count, replace=False)))
        dtype = np.dtype("f8") if rng.random() < 0.4 else a.dtype
        keepdims = bool(rng.integers(2))

        def function(a, axes=axes, dtype=dtype, keepdims=keepdims):
            return a.sum(axis=axes, dtype=dtype, keepdims=keepdims), np.prod(a * 0.1 + 1, axis=axes)

        for backend in ("native", "lowered_eager"):
            compiled = suture.compile(function, backend=backend)
            check(function, compiled, (a,), calls=1)
            assert frames_compiled(compiled) == 1
        checked += 1


def test_a_sum_starts_at_positive_zero():
    assert not np.signbit(np.sum(np.array([-0.0])))
    assert not np.signbit(model_sum(np.array([-0.0, -0.0]), (0,), np.dtype("f8")))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_are_taken_left_to_right(dtype):
    x = (1 + 0.01 * np.random.default_rng(0).standard_normal(5000)).astype(dtype)
    product = x.dtype.type(1)
    for value in x:
        product = product * value
    assert product == x.prod()
