"""What the modes of a repro file say of every kind of failure, and their exit codes. Graphs only: no function is compiled but for
its graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_accuracy import case_of

from suture._minify import modes
from suture._minify.case import Case
from suture._minify.launcher import input_names
from suture._minify.repro_file import ReproFile
from suture._minify.signature import Signature


def program(x, y):
    a = np.sqrt(np.abs(x) + 1)
    b = np.maximum(a - y, 0.25)
    return (b * 2).sum(axis=0), b - a


LINE = program.__code__.co_firstlineno + 2  # of np.maximum

# (kind of fault, calls, the failure that it is, whether it is one of values, which are told op by op)
KINDS = [
    (
        "compile_error",
        1,
        Signature("compile_error", "InjectedFault", "backend faulty: compile_error on op 'maximum'"),
        False,
    ),
    ("not_callable", 1, None, False),
    ("run_error", 1, Signature("run_error", "InjectedFault", "backend faulty: run_error on op 'maximum'"), False),
    ("second_call_error", 2, None, False),
    ("wrong_count", 1, None, False),
    ("wrong_value", 1, Signature("wrong_value"), True),
    ("wrong_dtype", 1, Signature("wrong_dtype"), True),
    ("wrong_shape", 1, Signature("wrong_shape"), True),
    ("mutated_input", 1, Signature("wrong_value"), True),
    ("wrong_stride", 1, Signature("wrong_strides"), False),
    ("reused_output", 2, Signature("wrong_alias"), False),
    ("warning", 1, Signature("warning", "", "RuntimeWarning: backend faulty: warning on op 'maximum'"), False),
    ("segfault", 1, Signature("segfault", signal=11), False),
    ("abort", 1, Signature("abort", signal=6), False),
    ("killed", 1, Signature("killed", signal=9), False),
    ("hang", 1, Signature("hang"), False),
    ("oom", 1, None, False),
]


def case_with(**settings) -> Case:
    rng = np.random.default_rng(1)
    return case_of(program, rng.uniform(-1, 1, (6, 5)), rng.uniform(-1, 1, 5)).with_(**settings)


def said_by(mode, case: Case, expected: Signature | None, seconds: float = 30.0, **origin) -> tuple[int, list[str]]:
    repro = ReproFile(case, input_names(case), expected.to_dict() if expected else {}, dict(origin))
    said: list[str] = []
    code = mode(repro, modes.Settings(run_limit=seconds), said.append)
    return code, "\n".join(said).splitlines()


@pytest.mark.parametrize(("kind", "calls", "expected", "of_values"), KINDS, ids=[kind for kind, *_ in KINDS])
def test_every_kind_of_failure_is_told_and_its_op_is_named(kind, calls, expected, of_values):
    case = case_with(backend=f"faulty:op=maximum,kind={kind}", calls=calls)
    seconds = 2.0 if kind == "hang" else 30.0
    code, ran = said_by(modes.run, case, expected, seconds)
    assert code == 1 and ran[-1].startswith("REPRODUCED: "), ran
    code, analyzed = said_by(modes.analyze, case, expected, seconds)
    assert code == 1 and analyzed[-1] == ran[-1], (ran, analyzed)
    at = next(i for i, line in enumerate(analyzed) if line.startswith("FIRST "))
    word = "DIVERGING" if of_values else "FAILING"
    assert analyzed[at] == f"FIRST {word} OP: maximum = maximum (np.maximum)"
    assert analyzed[at + 1] == f"  at {__file__}:{LINE}"
    code, bisected = said_by(modes.bisect, case, expected, seconds)
    assert code == 1 and f"CULPRIT    backend {case.backend}" in bisected
    assert f"op         maximum = maximum (np.maximum) at {__file__}:{LINE}" in bisected


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("kind=bad_code,op=maximum", "REPRODUCED: compile_error while compile: RuntimeError: toolchain: clang"),
        ("kind=segfault,op=maximum", "REPRODUCED: segfault while run (SIGSEGV)"),
    ],
)
def test_failures_of_the_native_compiler_are_told_so_too(fault, told):
    code, analyzed = said_by(modes.analyze, case_with(options={"inject_fault": fault}), None)
    assert code == 1 and any(line.startswith(told) for line in analyzed)
    assert "FIRST FAILING OP: maximum = maximum (np.maximum)" in analyzed


def test_results_that_differ_by_chance_are_waited_for():
    """The processor's clock says which calls are wrong."""
    case = case_with(backend="faulty:op=maximum,kind=nondeterministic", calls=2)
    for mode in (modes.run, modes.analyze):
        code, told = said_by(mode, case, Signature("nondeterministic"))
        assert code == 1 and told[-1].startswith("REPRODUCED: nondeterministic while compare: two calls "), told


@pytest.mark.parametrize("mode", [modes.run, modes.analyze])
def test_what_does_not_fail_and_what_fails_otherwise_is_not_reproduced(mode):
    code, told = said_by(mode, case_with(backend="eager"), Signature("segfault", signal=11))
    assert (code, told[-1]) == (0, "NOT REPRODUCED: it compiles, and its results are right")
    code, told = said_by(mode, case_with(backend="faulty:op=maximum,kind=abort"), Signature("segfault", signal=11))
    assert (code, told[-1]) == (0, "NOT REPRODUCED: it fails in another way: abort while run (SIGABRT)")


@pytest.mark.parametrize("mode", [modes.run, modes.analyze])
def test_what_numpy_does_not_run_cannot_run_here(mode):
    case = case_with(backend="eager")
    inputs = (case.inputs[0], case.inputs[0])  # shapes that do not fit the graph
    code, told = said_by(mode, case.with_(inputs=inputs), None)
    assert code == 77 and told[0].startswith("CANNOT RUN HERE: ")


def test_the_message_of_a_warning_is_part_of_what_is_expected(tmp_path: Path):
    case = case_with(backend="faulty:op=maximum,kind=warning")
    expected = Signature("warning", "", "RuntimeWarning: told")
    repro = ReproFile(case, input_names(case), expected.to_dict())
    assert "expected  warning, RuntimeWarning: told" in modes.explained(repro).splitlines()
