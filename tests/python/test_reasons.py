"""suture explain NAME: what the names in Suture's messages mean, without a network and without running anything."""

from __future__ import annotations

import json

import pytest

from suture import _core
from suture._reasons import page_text, pages_named


def explain(run_python, *arguments):
    return run_python("-m", "suture", "explain", *arguments)


def test_a_break_reason_is_explained_with_a_program_and_its_fix(run_python):
    done = explain(run_python, "sb101")
    assert done.returncode == 0 and not done.stdout
    text = done.stderr
    assert text.startswith("SB101: Data-dependent branching (warning)")
    parts = ["Explanation:", "Hint: Use `np.where", "if y.sum() > 0:", "Fix:", "y = np.where(y.sum() > 0, y * 2, y)"]
    assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)


def test_json_has_the_same_facts(run_python):
    (page,) = json.loads(explain(run_python, "--json", "SB203").stdout)
    assert page["kind"] == "break" and page["name"] == "SB203" and page["hints"] and "print(" in page["example"]
    assert "print" not in page["fixed"].split("def caller")[0]


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("size", "guard", "size mismatch"),
        ("recompile_limit", "option", "8"),
        ("SUTURE_RECOMPILE_LIMIT", "option", "8"),
        (_core.fusion_reason_table()[0][0], "fusion reason", _core.fusion_reason_table()[0][1]),
        (_core.pass_table()[0][0], "pass", _core.pass_table()[0][2]),
    ],
)
def test_guards_options_passes_and_fusion_reasons_have_pages(name, kind, says):
    (page,) = (page for page in pages_named(name) if page["kind"] == kind)
    assert says in page_text(page)


def test_every_row_of_every_table_is_found():
    names = [row[0] for table in (_core.break_table, _core.guard_table, _core.fusion_reason_table) for row in table()]
    names += [row[0] for table in (_core.pass_table, _core.option_table) for row in table()]
    for name in names:
        assert all(page_text(page).startswith(name) for page in pages_named(name)) and pages_named(name), name


def test_an_unknown_name_is_a_usage_error_with_the_nearest_one(run_python):
    done = explain(run_python, "SB4O4")
    assert done.returncode == 2 and "did you mean SB404" in done.stderr


def test_a_file_with_the_name_of_a_reason_is_run(run_python, tmp_path):
    program = tmp_path / "size"
    program.write_text("print('ran')")
    done = explain(run_python, str(program))
    assert done.returncode == 0 and "ran" in done.stdout
