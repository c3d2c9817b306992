"""The seed function and the example programs, Suture against plain NumPy."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np

from bench import bars
from bench.timing import compare

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def example(name: str) -> dict:
    """Names of an example program, without running its main()."""
    sys.argv = [name]
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="bench_example")


def in_place(x, n):
    """The seed function as a careful NumPy user would write it: one array, written in place."""
    y = np.sin(x)
    y += 1
    if y.sum() > 0:
        y *= 2
    np.maximum(y, 0, out=y)
    y *= n
    return y


def seed() -> None:
    f = example("seed")["f"]
    plain = f.__wrapped__
    rng = np.random.default_rng(0)
    for shape in ((1000, 1000), (100, 100), (8,)):
        x = rng.standard_normal(shape)
        name = f"seed {'x'.join(map(str, shape))} float64"
        ratio, _ = compare(name, lambda x=x: plain(x, 3.0), lambda x=x: f(x, 3.0))
        if shape == (1000, 1000):
            bars.at_least(f"{name} against NumPy", ratio, 4, "x")
            compare("  the same, NumPy in place", lambda x=x: in_place(x, 3.0), lambda x=x: f(x, 3.0))


def small() -> None:
    """One graph on tiny arrays: what a call costs."""
    import suture

    def add_scale(a, b):
        return (a + b) * 0.5

    compiled = suture.compile(add_scale)
    a, b = np.arange(8.0), np.ones(8)
    _, cost = compare("(a + b) * 0.5, 8 float64", lambda: add_scale(a, b), lambda: compiled(a, b))
    bars.at_most("whole call on 8 elements, from Python", cost.seconds * 1e6, 1, " us")


def writes() -> None:
    """Writing a part of a large argument: what a call keeps for a run under NumPy is that part."""
    import suture

    def one(x):
        x[0] += 1.0

    def edges(u):
        u[0], u[-1] = u[1] * 1.5, u[-2] * 1.5

    def whole(x):
        x += 1

    x, u = np.zeros(4_000_000), np.zeros((2000, 2000))
    for name, function, array in (
        ("x[0] += 1 of 4,000,000", one, x),
        ("two rows of 2000x2000", edges, u),
        ("x += 1 of 4,000,000", whole, x),
    ):
        compiled = suture.compile(function)
        compare(name, lambda f=function, a=array: f(a), lambda f=compiled, a=array: f(a))


def terrain() -> None:
    names = example("terrain")
    z, dx, dy = names["load_elevation"]()
    plain = {name: function.__wrapped__ for name, function in names.items() if hasattr(function, "__wrapped__")}
    east, south = plain["gradient"](z, dx, dy)
    slope, aspect = plain["slope_aspect"](east, south)
    compare("terrain smooth", lambda: plain["smooth"](z, 5), lambda: names["smooth"](z, 5))
    compare("terrain gradient", lambda: plain["gradient"](z, dx, dy), lambda: names["gradient"](z, dx, dy))
    compare(
        "terrain slope_aspect", lambda: plain["slope_aspect"](east, south), lambda: names["slope_aspect"](east, south)
    )
    compare("terrain hillshade", lambda: plain["hillshade"](slope, aspect), lambda: names["hillshade"](slope, aspect))
    water = np.ones_like(z)
    compare("terrain flow_step", lambda: plain["flow_step"](z, water), lambda: names["flow_step"](z, water))


def kmeans() -> None:
    from sklearn.datasets import load_digits

    names = example("kmeans_digits")
    points = load_digits().data
    start = points[np.random.default_rng(3).choice(len(points), 10, replace=False)]
    compare(
        "k-means digits",
        lambda: names["kmeans"].__wrapped__(points, start),
        lambda: names["kmeans"](points, start),
        rounds=6,
    )
