"""One program per break reason: the reason, the line, the hint, and the same result as without Suture; and its fix.

The programs are those of the documentation, python/suture/break_programs (see suture/_reasons.py for their shape). A
program file sbNNN_*.py defines
    f           the function
    arguments() fresh arguments for one call
    REASON      "SBnnn"
    AT          text of the source line that is blamed ("" for skips of the whole frame)
    FRAMES      how many frames must compile (0 only for skips of the whole frame)
    fixed       the same computation without this break; every one has at least one frame that compiles
and may define caller, FIXED_FRAMES (default 1), the frames that `fixed` must compile to, OPTIONS (of suture.compile), CALLS, the number of calls (default 1), and RAISES, the exception both sides must raise.
"""

import json
import linecache
import runpy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scripts.check_tables import BREAKS_WITHOUT_PROGRAM

import suture
from suture import _core
from suture._reasons import break_pages

PROGRAMS = sorted((Path(suture.__file__).parent / "break_programs").glob("sb*.py"))


def same(expected, actual):
    assert type(expected) is type(actual)
    if isinstance(expected, Iterator):
        same(list(expected), list(actual))
    elif isinstance(expected, np.ndarray):
        assert expected.dtype == actual.dtype and expected.shape == actual.shape
        np.testing.assert_array_equal(expected, actual)
    elif isinstance(expected, (tuple, list)):
        assert len(expected) == len(actual)
        for e, a in zip(expected, actual, strict=True):
            same(e, a)
    else:
        assert expected == actual or (expected != expected and actual != actual)


def same_numbers(expected, actual):
    """Equal values; a fix may return a NumPy scalar where the program had a Python number."""
    if isinstance(expected, (tuple, list, Iterator)):
        expected, actual = list(expected), list(actual)
        assert len(expected) == len(actual)
        for e, a in zip(expected, actual, strict=True):
            same_numbers(e, a)
    else:
        np.testing.assert_array_equal(np.ma.getdata(expected).astype(complex), np.asarray(actual).astype(complex))


def outcome(function, arguments):
    try:
        return "value", function(*arguments)
    except Exception as error:
        return "error", (type(error), str(error))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_break_has_its_reason_line_and_hint(path, capsys):
    program = runpy.run_path(str(path), run_name="break_program")
    f, arguments = program["f"], program["arguments"]
    events = []
    token = _core.subscribe(["graph_break", "frame_skipped", "recompile_limit"], events.append)
    try:
        compiled = suture.compile(f, options=program.get("OPTIONS"))
        for _ in range(program.get("CALLS", 1)):
            expected_arguments, actual_arguments = arguments(), arguments()
            expected_kind, expected = outcome(f, expected_arguments)
            printed = capsys.readouterr().out
            actual_kind, actual = outcome(compiled, actual_arguments)
            assert capsys.readouterr().out == printed
            assert expected_kind == actual_kind
            assert ("RAISES" in program) == (expected_kind == "error")
            same(expected, actual)
            for e, a in zip(expected_arguments, actual_arguments, strict=True):
                same(e, a)
    finally:
        _core.unsubscribe(token)
    records = [json.loads(line)["fields"] for line in events]
    matching = [r for r in records if program["REASON"] in (r.get("reason_id", "SB505"), r.get("effect_id"))]
    assert matching, f"{program['REASON']} expected, got {[r.get('reason_id') for r in records]}"
    if program["REASON"] != "SB505":
        assert all(r["hints"] and all(r["hints"]) and r["explanation"] and r["reason"] for r in matching)
        assert "{" not in matching[0]["explanation"] or "{" in linecache.getline(
            matching[0]["file"], matching[0]["line"]
        )
    if program["AT"]:
        blamed = [linecache.getline(r["file"], r["line"]) for r in matching]
        assert any(program["AT"] in line for line in blamed), blamed
    frames = sum(frame["compiles"] for frame in _core.status(compiled)["frames"])
    assert frames == program["FRAMES"], _core.status(compiled)["frames"]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_fix_compiles_without_the_break_and_computes_the_same(path, capsys):
    program = runpy.run_path(str(path), run_name="break_program")
    f, arguments = program["f"], program["arguments"]
    caller = program.get("caller", lambda fixed, *args: fixed(*args))
    events = []
    token = _core.subscribe(["graph_break", "frame_skipped", "recompile_limit"], events.append)
    try:
        compiled = suture.compile(program["fixed"], options=program.get("OPTIONS"))
        for _ in range(program.get("CALLS", 1)):
            original = f if "RAISES" not in program else lambda *args: caller(program["fixed"], *args)
            expected = original(*arguments())
            printed = capsys.readouterr().out
            same_numbers(expected, caller(compiled, *arguments()))
            assert capsys.readouterr().out == printed
    finally:
        _core.unsubscribe(token)
    fields = [json.loads(line)["fields"] for line in events]
    reasons = [r["reason_id"] for r in fields] + [r.get("effect_id") for r in fields]
    assert program["REASON"] not in reasons
    frames = sum(frame["compiles"] for frame in _core.status(compiled)["frames"])
    assert frames == program.get("FIXED_FRAMES", 1), reasons


def test_every_page_has_an_explanation_a_hint_and_the_program_with_its_fix():
    for page in break_pages():
        assert page["title"] and page["explanation"] and all(page["hints"]), page["name"]
        if page["name"] in BREAKS_WITHOUT_PROGRAM:
            continue
        assert "def f(" in page["example"] or "f = " in page["example"], page["name"]
        assert page["fix"].endswith(".") and "fixed" in page["fixed"], page["name"]
        assert "REASON" not in page["example"] + page["fixed"]


def test_every_reason_that_a_program_can_cause_has_one():
    programs = {path.name[:5].upper() for path in PROGRAMS}
    assert {code for code, *_ in _core.break_table()} - BREAKS_WITHOUT_PROGRAM <= programs
