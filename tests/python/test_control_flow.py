"""Random control flow around array work: under Suture a program does what it does without, and nothing inside fails.

`SUTURE_STRICT` is on, so a defect of Suture is an exception of the call. More examples: HYPOTHESIS_MAX_EXAMPLES=500 pytest ...
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, note, settings

import suture
from tests.support.control_flow import PROLOGUE, compile_method, observe, programs
from tests.support.oracle import assert_same, frames_compiled

EXAMPLES = int(os.environ.get("HYPOTHESIS_MAX_EXAMPLES", "25"))
SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, database=None
)


def compare(source: str) -> int:
    """All calls of the program, plain and compiled, must show the same; the number of frames that compiled."""
    compiled = []

    def compile(function):
        compiled.append(compile_method(function))
        return compiled[0]

    with suture.config.patch(strict=True):
        wanted, got = observe(source, lambda function: function), observe(source, compile)
    for number, (want, have) in enumerate(zip(wanted, got, strict=True)):
        for what, w, h in zip(("result", "x", "output", "warnings", "state"), want, have, strict=True):
            try:
                assert_same(w, h)
            except AssertionError as error:
                raise AssertionError(f"{what} of call {number}: {h!r}, expected {w!r}: {error}") from None
    return frames_compiled(getattr(compiled[0], "__func__", compiled[0]))


compiled_frames: list[int] = []


@SETTINGS
@given(programs())
def test_random_programs(source):
    note(source)
    compiled_frames.append(compare(source))


def test_random_programs_were_compiled():
    if not compiled_frames:
        pytest.skip("the test of random programs did not run")
    assert sum(compiled_frames) >= len(compiled_frames)


# Programs that once failed, smallest form. Body of f(x, n); frames that compile over all calls.
FOUND: dict[str, tuple[str, int]] = {
    "a cell that a function made before the loop shares": (
        """\
    peek = lambda: (y, n)
    y = x * 1.5
    c1 = 0
    while c1 < 1:
        c1 += 1
        if n > 0:
            y = y * 2.0 + x
        else:
            tick(7)
        y = peek()[0] + 3
    return y, n
""",
        5,
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    body, frames = FOUND[name]
    assert compare(PROLOGUE + "def f(x, n):\n" + body) == frames
