"""Each fault that the native compiler can be told to make is blamed on its own stage, wherever it is."""

from __future__ import annotations

import numpy as np
import pytest
from test_accuracy import case_of

from suture import _core
from suture._minify.bisect import bisect, bisect_program
from suture._minify.case import Case


def arithmetic(x, y):
    a = np.sqrt(np.abs(x) + 1)
    b = np.maximum(a - y, 0.75)
    return (b * 2).sum(axis=0), (a * 3 + b) * (a - b)


def conditions(x, y):
    m = (x > y) & (x < 2)
    z = np.where(m, x * y, x - y)
    return z.max(axis=1), m.sum(), np.log(np.abs(z) + 1)


def warns(x, y):
    return np.log(x * 0) + y


# (stage of the fault table, of kind): what bisect may call it. A fault of a schedule is one of fusion where it needs fused ops,
# and one of kernels where every schedule has it.
STAGES = {
    "passes": {"optional passes"},
    "schedule": {"fusion", "kernels"},
    "codegen": {"kernels"},
    "toolchain": {"kernels"},
    "kernel": {"kernels"},
    "runtime": {"kernels"},
}
OF_KIND = {"stale_value": {"fusion"}, "schedule_error": {"kernels"}, "swapped_arguments": {"kernels", "fusion"}}
ANYWHERE = ("abs", "sub")
# Ops at which kinds act that do not act at all of ANYWHERE.
POSITIONS = {
    "swap_operands": ("sub", "gt"),
    "swapped_steps": ("sub", "lt", "where"),
    "wrong_operator": ("sqrt", "sub"),
    "wrong_strides": ("*",),
    "wrong_dtype": ("*",),
    "swapped_arguments": ("gt", "sub"),
    "lost_conditions": ("*",),
    "nondeterministic": ("sqrt", "sub"),
    "toolchain_hang": ("sqrt",),
    "hang": ("sqrt",),
}
PROGRAMS = {"swapped_steps": conditions, "swapped_arguments": conditions, "lost_conditions": warns}
KINDS = [(kind, stage) for kind, stage, _ in _core.fault_tables()["kinds"] if stage not in ("guards", "resume")]


def case_with(program, fault: str) -> Case:
    rng = np.random.default_rng(1)
    case = case_of(program, rng.uniform(-1, 1, (6, 5)), rng.uniform(-1, 1, (6, 5)))
    return case.with_(options={"inject_fault": fault}, calls=3 if "nondeterministic" in fault else 1)


@pytest.mark.parametrize(
    ("kind", "stage", "op"), [(kind, stage, op) for kind, stage in KINDS for op in POSITIONS.get(kind, ANYWHERE)]
)
def test_a_fault_is_blamed_on_its_stage(kind, stage, op):
    program = PROGRAMS.get(kind, conditions if op == "gt" else arithmetic)
    found = bisect(case_with(program, f"kind={kind},op={op}"), seconds=3 if "hang" in kind else 20)
    assert found.reproduced, found
    assert found.stage in OF_KIND.get(kind, STAGES[stage]), found
    assert found.passing is not None and found.op, found


@pytest.mark.parametrize("op", ["abs", "sqrt", "add", "sub"])
def test_a_value_that_numpy_puts_right_behind_another_compiler_is_no_fault_of_that_compiler(op):
    """NaN: the code of one C++ compiler raises a flag in the ops behind it, and NumPy does the work again; that of another does
    not. Kernels are judged by what they give."""
    found = bisect(case_with(arithmetic, f"kind=nan,op={op}"))
    assert found.stage == "kernels" and found.passing == {"backend": "lowered_eager"}
    other = [row for row in found.ladder if row.settings.get("toolchain") == "subprocess"]
    assert [row.verdict for row in other] == ["same"]


# One frame compiles in every run.
OF_FRAMES = """\
import numpy as np
import suture

@suture.compile(options={"inject_fault": "kind=drop_guard"})
def f(x, mode):
    y = np.cos(x) + 1
    if mode == "double":
        y = y * 2
    return np.maximum(y, 0.5)

x = np.linspace(1, 2, 3)
assert np.allclose(f(x, "single") * 2, f(x, "double"))
"""


def test_a_fault_of_guards_is_one_of_capture_and_a_fault_of_the_program_is_its_own(write_program):
    found = bisect_program([str(write_program(OF_FRAMES))])
    assert found.stage == "graph" and found.passing == {"disable": True}
    found = bisect_program([str(write_program(OF_FRAMES + "raise SystemExit('always')\n"))])
    assert found.stage == "graph", "it is the assertion that fails first"
    found = bisect_program([str(write_program("raise SystemExit('always')\n"))])
    assert found.stage == "program" and found.failing == {"disable": True} and found.passing is None


# One frame compiles in every run. The value that is stale is NaN for a negative x.
OF_PROGRAMS = """\
import numpy as np
import suture

@suture.compile(options={"inject_fault": "kind=nan,op=sqrt"})
def f(x):
    return np.maximum(np.sqrt(np.abs(x) + 1), x) + 1

x = np.linspace(-1, 1, 3)
assert np.allclose(f(x), np.maximum(np.sqrt(np.abs(x) + 1), x) + 1)
"""


def test_kernels_of_a_program_are_not_mistaken_for_the_compiler_either(write_program):
    found = bisect_program([str(write_program(OF_PROGRAMS))])
    assert found.stage == "kernels", found
    assert any(note.startswith("by the other C++ compiler it passes because a condition") for note in found.notes), (
        found
    )
