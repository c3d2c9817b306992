"""Kernels touch the elements of their arrays and nothing else.

The arrays lie between forbidden pages, and empty arrays inside one, so a load or store too many ends the process. Each group of programs
runs in a process of its own, which says before every call what it is about to do.
"""

from __future__ import annotations

import numpy as np
import pytest

CHILD = """
import random, sys
import numpy as np
import suture
from tests.python.test_memory_bounds import PROGRAMS, draw_arguments, same
from tests.support.oracle import frames_compiled

group, seed = sys.argv[1], int(sys.argv[2])
for number, text in enumerate(PROGRAMS[group]):
    plain = eval(f"lambda x, y, c: ({text})", {"np": np})
    rng = random.Random(seed + number)
    for turn in range(8):
        arguments, fences = draw_arguments(rng)
        print(group, number, text, [(a.shape, a.strides, a.dtype.str) for a in arguments], flush=True)
        compiled = suture.compile(plain, dynamic=rng.choice([None, True]))
        try:
            with np.errstate(all="ignore"):
                expected = plain(*arguments)
        except Exception as error:
            try:
                compiled(*arguments)
            except type(error):
                continue
            raise AssertionError("no exception")
        with np.errstate(all="ignore"):
            got = compiled(*arguments)
        assert same(got, expected), (got, expected)
        assert frames_compiled(compiled) >= 1
print("done")
"""

PROGRAMS = {
    "elementwise": [
        "x + y",
        "np.where(c, x, y)",
        "np.where(c, x * 2, 0.0) + y",
        "(x * y + 1.5) / (y - 0.25)",
        "np.maximum(x, y).T",
        "np.clip(x, -1.0, 1.0) * (y > 0)",
        "(x + y)[1:]",
        "(x + y)[..., ::-1] * 2",
        "np.exp(x) + y[..., :1]",
        "x.astype('f4') + y.astype('f4')",
    ],
    "reductions": [
        "(x + y).sum()",
        "(x * y).sum(axis=0)",
        "(x + y).sum(axis=-1) * 2",
        "x.mean(axis=-1, keepdims=True) + y",
        "(x - x.sum(axis=0)) * y",
        "np.sqrt(np.abs(x)).sum(axis=-1) + c.sum(axis=-1)",
        "(x > y).any(axis=0), (x > y).all(axis=-1)",
        "np.prod(x + y, axis=0), (x * y).sum()",
        "x.sum() * y",
        "x.max() + y.min()",
    ],
    "one element beside many": [
        "np.where(c, x, y.sum())",
        "x * y.mean() + c.sum()",
        "(x + 1).sum() + y[..., :1] * x",
        "np.stack([x + y, x - y])",
        "np.zeros_like(x) + y.sum()",
        "np.full(x.shape, 2.5) * x + y",
    ],
}
SHAPES = [
    (0,),
    (1,),
    (3,),
    (17,),
    (2, 0),
    (0, 3),
    (2, 3),
    (4, 1),
    (1, 5),
    (2, 0, 1),
    (0, 2, 1),
    (2, 1, 4),
    (3, 2, 33),
    (1, 1, 0),
]


def draw_arguments(rng):
    from tests.support.fenced_arrays import fenced

    shape = rng.choice(SHAPES)
    values = np.random.default_rng(rng.randrange(2**32))
    arguments, fences = [], []
    for kind in "xyc":
        mine = [1 if size != 0 and rng.random() < 0.25 else size for size in shape]
        mine = mine[rng.randrange(len(mine)) :] if rng.random() < 0.2 else mine
        array = values.standard_normal(mine) if kind != "c" else values.random(mine) < 0.5
        if rng.random() < 0.3:
            array = np.asfortranarray(array)
        array, fence = fenced(array, at_end=rng.random() < 0.7)
        if rng.random() < 0.2 and array.ndim:
            array = array[..., ::-1]
        if array.size == 0 and rng.random() < 0.5:
            array = np.lib.stride_tricks.as_strided(array, array.shape, (0,) * array.ndim)
        arguments.append(array)
        fences.append(fence)
    return arguments, fences


def same(got, expected):
    if isinstance(expected, tuple):
        return len(got) == len(expected) and all(same(g, e) for g, e in zip(got, expected, strict=True))
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    return np.allclose(got, expected, rtol=1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("group", PROGRAMS)
def test_nothing_outside_an_array_is_touched(run_python, group, seed):
    done = run_python("-c", CHILD, group, str(seed))
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout[-400:] + done.stderr[-2000:]


def test_the_fence_is_one(run_python):
    program = """
import numpy as np
from tests.support.fenced_arrays import fenced
array, fence = fenced(np.ones(5))
print("inside", np.lib.stride_tricks.as_strided(array, (5,), (8,)).sum(), flush=True)
np.lib.stride_tricks.as_strided(array, (6,), (8,)).sum()
print("outside")
"""
    done = run_python("-c", program)
    assert done.stdout == "inside 5.0\n" and done.returncode < 0
