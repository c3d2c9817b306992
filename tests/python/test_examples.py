"""The example programs give NumPy's results, and their array work is compiled."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from suture import _core
from tests.support.oracle import check, frames_compiled

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def terrain():
    names = runpy.run_path(str(EXAMPLES / "terrain.py"), run_name="example")
    return names, names["load_elevation"]()


def original(function):
    return function.__wrapped__


@pytest.mark.parametrize(
    "name, ulp, frames",
    [("smooth", 0, 1), ("gradient", 0, 1), ("slope_aspect", 4, 1), ("hillshade", 1 << 12, 1), ("flow_step", 0, 1)],
)
def test_terrain_function_equals_numpy_in_one_graph(terrain, name, ulp, frames):
    names, (z, dx, dy) = terrain
    z = z[:120, :140].copy()
    east, south = original(names["gradient"])(z, dx, dy)
    slope, aspect = original(names["slope_aspect"])(east, south)
    arguments = {
        "smooth": (z, 5),
        "gradient": (z, dx, dy),
        "slope_aspect": (east, south),
        "hillshade": (slope, aspect),
        "flow_step": (z, np.ones_like(z)),
    }[name]
    check(original(names[name]), names[name], arguments, ulp=ulp)
    assert frames_compiled(names[name]) == frames


def test_terrain_flow_accumulation_compiles_its_loop_body(terrain):
    names, (z, _, _) = terrain
    z = z[:120, :140].copy()
    check(original(names["accumulate_flow"]), names["accumulate_flow"], (z, 30))
    frames = _core.status(names["accumulate_flow"])["frames"]
    assert any(frame["kind"] == "iteration" and frame["compiles"] for frame in frames)


def test_kmeans_equals_numpy():
    from sklearn.datasets import load_digits

    names = runpy.run_path(str(EXAMPLES / "kmeans_digits.py"), run_name="example")
    points = load_digits().data
    start = points[np.random.default_rng(3).choice(len(points), 10, replace=False)]
    check(original(names["kmeans"]), names["kmeans"], (points, start), ulp=0, calls=1)
    assert frames_compiled(names["kmeans"]) >= 2
