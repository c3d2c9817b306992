"""Every performance hint: a program that has it, at its line, with evidence and an edit; and the edit removes it.

The programs are those of the documentation, python/suture/hint_programs (see suture/_reasons.py for their shape).
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from scripts.check_tables import HINTS_WITHOUT_PROGRAM

import suture
from suture import _core
from suture._reasons import hint_pages, page_text, pages_named

FOLDER = Path(suture.__file__).parent / "hint_programs"
HINTS = [name for name, *_ in _core.perf_hint_table() if name not in HINTS_WITHOUT_PROGRAM]
# What only a measured run can tell.
MEASURED = {"small_arrays", "page_faults"}


def run(function, use, arguments, settings, events=("perf_hint",)):
    """The compiled function after the program has used it, the program's result, and the fields of its events."""
    lines = []
    token = _core.subscribe(list(events), lines.append)
    try:
        compiled = suture.compile(function, **settings)
        result = use(compiled, *arguments)
    finally:
        _core.unsubscribe(token)
    frames = sum(frame["compiles"] for frame in _core.status(compiled)["frames"])
    assert frames == 1, _core.status(compiled)["frames"]
    return compiled, result, [json.loads(line)["fields"] for line in lines]


@pytest.fixture
def profiled():
    _core.profile(True)
    yield
    _core.profile(False)


def call(function, *arguments):
    return function(*arguments)


def load(name):
    program = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="hint_program")
    settings, arguments = program.get("SETTINGS", {}), program["arguments"]
    before = program["f"], program.get("use", call), arguments, settings
    after = program["fixed"], program.get("fixed_use", call), program.get("fixed_arguments", arguments), settings
    return before, after


def found(name, hints):
    return [hint for hint in hints if hint["id"] == name]


@pytest.mark.parametrize("name", HINTS)
def test_the_program_has_its_hint_and_the_edit_removes_it(name, profiled):
    (f, use, arguments, settings), (fixed, fixed_use, fixed_arguments, _) = load(name)
    expected = use(f, *arguments())
    _, result, hints = run(f, use, arguments(), settings)
    np.testing.assert_array_equal(result, expected)
    (hint,) = found(name, hints)
    (row,) = [row for row in _core.perf_hint_table() if row[0] == name]
    assert (hint["title"], hint["why"]) == (row[1], row[2])
    assert hint["sentence"] and hint["evidence"] and hint["advice"]
    code = f.__code__
    lines = range(code.co_firstlineno, code.co_firstlineno + len(list(code.co_lines())))
    assert hint["file"] == code.co_filename and hint["line"] in lines and hint["function"] == "f"
    assert hint["cost_ms"] > 0, "measured"
    _, again, rest = run(fixed, fixed_use, fixed_arguments(), settings)
    np.testing.assert_allclose(again, expected, rtol=1e-9)
    assert found(name, rest) == []


@pytest.mark.parametrize("name", sorted(set(HINTS) - MEASURED))
def test_what_the_plan_tells_needs_no_measurement(name):
    (f, use, arguments, settings), _ = load(name)
    compiled, _, hints = run(f, use, arguments(), settings)
    (hint,) = found(name, hints)
    assert hint["cost_ms"] == 0
    (explained,) = found(name, suture.explain(compiled).perf_hints)
    assert explained["sentence"] == hint["sentence"] and explained["line"] == hint["line"]


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_what_must_be_measured_is_not_there_when_nobody_asked(name):
    (f, use, arguments, settings), _ = load(name)
    compiled, _, hints = run(f, use, arguments(), settings)
    assert hints == [] and suture.explain(compiled).perf_hints == []


def test_bytes_are_those_of_the_arrays(profiled):
    (f, use, arguments, settings), _ = load("copy_reshape")
    (hint,) = run(f, use, arguments(), settings)[2]
    assert hint["bytes"] == 2 * 60_000 * 8, "written and read"
    (f, use, arguments, settings), _ = load("copy_converted")
    (hint,) = found("copy_converted", run(f, use, arguments(), settings)[2])
    assert hint["bytes"] == 2 * 200 * 200 * 8 and "from float32 to float64" in hint["sentence"]


def test_only_what_is_overwritten_and_can_be_needed_again_is_saved(profiled):
    def half(x):
        x[:50_000] = x[:50_000] * 2

    def quiet(x):
        np.negative(x, out=x)

    (hint,) = run(half, call, (np.ones(100_000),), {})[2]
    assert hint["id"] == "copy_kept_input" and hint["bytes"] == 2 * 50_000 * 8
    assert run(quiet, call, (np.ones(100_000),), {})[2] == [], "no condition of floating point can be met"


def test_a_product_of_floats_has_no_vector_multiplication_and_its_edit_has():
    def multiplications(function):
        _, _, events = run(function, call, load("reduction_sequential")[0][2](), {}, events=["kernel_assembly"])
        return set(re.findall(r"\bv?mul([ps])d\b", events[0]["text"]))

    before, after = load("reduction_sequential")
    if not multiplications(before[0]):
        pytest.skip("the disassembly is not that of x86")
    assert multiplications(before[0]) == {"s"}
    assert "p" in multiplications(after[0])


SMALL = {
    "missed_fusion": (np.ones(9),),
    "copy_reshape": (np.ones((4, 5)),),
    "copy_overlap": (np.ones(9),),
    "copy_kept_input": (np.ones(9),),
    "copy_converted": (np.ones((4, 4)), np.ones((4, 4), "float32")),
    "reduction_sequential": (np.ones(512),),
    "reduction_short_runs": (np.ones((4, 3)),),
    "reduction_strided": (np.ones((4, 8)),),
    "blas_not_used": (np.ones((4, 4), int), np.ones((4, 4), int)),
}


@pytest.mark.parametrize("name", SMALL)
def test_what_moves_next_to_nothing_is_no_hint(name, profiled):
    (f, use, _, settings), _ = load(name)
    assert {hint["id"] for hint in run(f, use, SMALL[name], settings)[2]} <= {"small_arrays"}


# --- measuring is invisible -----------------------------------------------------------------------------------------------


def test_measured_runs_leave_no_warning_no_event_and_no_count(profiled, recwarn):
    def f(x):
        return np.log(x) + 1

    _, result, events = run(f, call, (np.linspace(0, 1, 5),), {}, events=["replay", "perf_hint"])
    assert np.isneginf(result[0])
    assert len(recwarn.list) == 1 and "divide by zero" in str(recwarn.list[0].message), "the call's own"
    assert [event for event in events if "conditions" in event] and len([e for e in events if "conditions" in e]) == 1


def test_reductions_of_nothing_warn_as_often_as_without_measuring(profiled, recwarn):
    import warnings

    def warnings_of_a_compile():
        recwarn.clear()
        compiled = suture.compile(lambda x: x.mean() + 1)
        assert np.isnan(compiled(np.ones(0)))
        assert compiled.status()["graph_count"] == 1
        return len(recwarn.list)

    warnings.simplefilter("always")
    measured = warnings_of_a_compile()
    _core.profile(False)
    try:
        assert measured == warnings_of_a_compile() > 0
    finally:
        _core.profile(True)


def test_arguments_that_are_written_into_are_written_once(profiled):
    (f, use, arguments, settings), _ = load("copy_kept_input")
    (x,) = arguments()
    expected = x * 2 + 1
    run(f, use, (x,), settings)
    np.testing.assert_array_equal(x, expected)


def test_the_compile_time_is_that_of_the_compile():
    """Measured runs of a slow graph are no part of it, nor is measuring what copies cost."""
    x = np.random.default_rng(0).random(2_000_000)

    def f(x):
        y = np.sin(np.exp(np.cos(x)))
        return y[1:] - y[:-1]

    lines = []
    token = _core.subscribe(["frame_done", "perf_hint"], lines.append)
    try:
        explanation = suture.explain(f)(x)
    finally:
        _core.unsubscribe(token)
    events = {json.loads(line)["event"]: json.loads(line)["fields"] for line in lines}
    fields = events["frame_done"]
    assert events["perf_hint"]["cost_ms"] > 0, "measured"
    parts = sum(ms for name, ms in fields["phases"].items() if name != "total")
    assert fields["ms"] <= parts * 1.5 + 5, fields["phases"]
    assert explanation.graph_count == 1


# --- where they are shown -------------------------------------------------------------------------------------------------

PROGRAM = """\
import numpy as np, suture
@suture.compile
def f(x):
    y = x * 2
    return y[1:] - y[:-1]
for _ in range(50):
    f(np.linspace(0, 1, 100_000))
"""


def test_the_log_has_measured_costs_and_the_edit(run_python, write_program):
    done = run_python(str(write_program(PROGRAM)), SUTURE_LOGS="perf_hints")
    assert done.returncode == 0
    assert "perf_hints: missed_fusion at " in done.stderr and "written.py:5: * (line 4) and - (line 5)" in done.stderr
    for part in (
        "Why: ",
        "Evidence: ",
        "Cost: up to 0.",
        "Hint: Slice the inputs",
        "More: suture explain missed_fusion",
    ):
        assert part in done.stderr, part


def test_check_lists_them_with_what_they_cost_over_the_run(run_python, write_program):
    done = run_python("-m", "suture", "check", "--json", str(write_program(PROGRAM)))
    assert done.returncode == 0
    (finding,) = [f for f in json.loads(done.stdout)["findings"] if f["id"] == "missed_fusion"]
    assert finding["station"] == "kernels" and finding["severity"] == "note" and finding["line"] == 5
    assert finding["cost_ms"] > 0 and finding["advice"].startswith("Slice the inputs")
    assert any("50 calls" in line for line in finding["evidence"])


def test_check_leaves_out_what_costs_next_to_nothing(run_python, write_program):
    program = write_program("import numpy as np, suture\nsuture.compile(lambda x: x * 2 + 1)(np.ones(3))\n")
    findings = json.loads(run_python("-m", "suture", "check", "--json", str(program)).stdout)["findings"]
    assert findings == [], "one call cannot cost more than a microsecond around its kernel"


def test_explain_shows_them_in_every_form(profiled):
    (f, use, arguments, settings), _ = load("copy_reshape")
    explanation = suture.explain(f, **settings)(*arguments())
    (hint,) = explanation.perf_hints
    assert hint["cost_ms"] > 0 and explanation.to_dict()["perf_hints"] == [hint]
    assert "Performance Hints:\n  copy_reshape at " in str(explanation)
    assert "Performance hints" in explanation._repr_html_() and "copy_reshape" in explanation._repr_html_()


def test_trace_and_dump_have_them_without_measuring(run_python, write_program, tmp_path):
    program = str(write_program(PROGRAM))
    assert run_python(program, SUTURE_TRACE=str(tmp_path / "t")).returncode == 0
    (trace,) = (tmp_path / "t").glob("*.jsonl")
    (event,) = [line for line in map(json.loads, trace.open()) if line.get("event") == "perf_hint"]
    assert event["fields"]["id"] == "missed_fusion" and event["fields"]["cost_ms"] == 0
    done = run_python(program, SUTURE_COMPILE_DEBUG="1", SUTURE_COMPILE_DEBUG_DIR=str(tmp_path / "d"))
    assert done.returncode == 0
    (text,) = (tmp_path / "d").rglob("perf_hints.txt")
    assert text.read_text().startswith("missed_fusion at ")


def test_logs_switch_measuring_off_again(restore_config):
    (f, use, arguments, settings), _ = load("small_arrays")
    with suture.set_logs("perf_hints,-all"):
        assert found("small_arrays", run(f, use, arguments(), settings)[2]), "measured while it is on"
    assert run(f, use, arguments(), settings)[2] == []


# --- pages and tables -----------------------------------------------------------------------------------------------------


def test_every_page_says_why_what_to_do_and_shows_a_program_with_its_fix():
    for page in hint_pages():
        text = page_text(page)
        assert text.startswith(f"{page['name']}: {page['title']}") and "Why: " in text and "Hint: " in text
        if page["name"] in HINTS_WITHOUT_PROGRAM:
            continue
        assert "def f(" in page["example"] and page["fix"].endswith(".") and "def fixed(" in page["fixed"], page["name"]
        assert pages_named(page["name"]) == [page]


def test_explain_prints_the_page(run_python):
    done = run_python("-m", "suture", "explain", "copy_reshape")
    assert done.returncode == 0 and done.stderr.startswith("copy_reshape: A reshape copies (performance hint)")
    (page,) = json.loads(run_python("-m", "suture", "explain", "--json", "missed_fusion").stdout)
    assert page["kind"] == "hint" and "y[1:] - y[:-1]" in page["example"]


def test_a_slow_blas_is_told_and_the_advice_removes_it(run_python, write_program):
    """OpenBLAS runs the kernels of an old processor when it is told to."""
    program = write_program(
        "import json, numpy as np, suture\n"
        "from suture import _core, _measure\n"
        "_core.profile(True)\n"
        "_core.subscribe(['perf_hint'], lambda line: print(line, flush=True))\n"
        "suture.compile(lambda a: a @ a)(np.ones((300, 300)))\n"
        "print(json.dumps(_measure.blas_speed()))\n"
    )
    slow = run_python(str(program), OPENBLAS_CORETYPE="Prescott").stdout.splitlines()
    good = run_python(str(program)).stdout.splitlines()
    (_, slow_rate, slow_multiply), (name, rate, multiply) = json.loads(slow[-1]), json.loads(good[-1])
    if "openblas" not in name or rate < 2 * slow_rate or slow_rate > 9 * slow_multiply or rate < 11 * multiply:
        pytest.skip("this BLAS has no slow kernels to choose, or this machine no fast ones")
    (hint,) = [json.loads(line)["fields"] for line in slow[:-1]]
    assert hint["id"] == "slow_blas" and "GFLOP/s" in hint["evidence"] and hint["cost_ms"] > 0
    assert good[:-1] == []
