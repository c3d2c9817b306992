"""Logs: SUTURE_LOGS, set_logs, and delivery through Python's logging. The texts are tested in tests/unit/toolbox."""

from __future__ import annotations

import io
import logging
import re
from contextlib import redirect_stderr

import numpy as np
import pytest

import suture
from suture import _toolbox


def branchy(x):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return y


@pytest.fixture(autouse=True)
def _restored(restore_config):
    yield
    suture.set_logs("")


def test_set_logs_writes_artifacts_to_stderr():
    out = io.StringIO()
    with redirect_stderr(out):
        suture.set_logs("graph_breaks")
        suture.compile(branchy)(np.ones(3))
    text = out.getvalue()
    assert text.count("Graph break in user code at") == 1
    assert f"{__file__}:{branchy.__code__.co_firstlineno + 2}" in text
    assert "graph_breaks: Graph break in user code" in text
    assert "if y.sum() > 0:" in text and "^^^" in text


def test_keywords_and_text_mean_the_same_and_replace_earlier_settings():
    suture.set_logs(graph_breaks=True, capture=logging.DEBUG, guards=False)
    assert suture.config.logs == "graph_breaks,+capture,-guards"
    suture.set_logs("recompiles", cache="error")
    assert suture.config.logs == "recompiles,-cache"
    out = io.StringIO()
    with redirect_stderr(out):
        suture.compile(branchy)(np.ones(3))
    assert out.getvalue() == ""


def test_unknown_names_are_errors_that_change_nothing():
    suture.set_logs("recompiles")
    with pytest.raises(ValueError, match="did you mean 'graph_breaks'"):
        suture.set_logs("graph_break")
    with pytest.raises(ValueError, match="level"):
        suture.set_logs(capture="loud")
    assert suture.config.logs == "recompiles"


def test_records_go_through_the_logging_tree_with_their_fields(caplog):
    suture.set_logs("graph_breaks")
    with redirect_stderr(io.StringIO()):
        suture.compile(branchy)(np.ones(3))
    records = [record for record in caplog.records if record.name == "suture.capture.graph_breaks"]
    assert len(records) == 1
    record = records[0]
    assert record.levelno == logging.INFO and record.artifact == "graph_breaks" and record.event == "graph_break"
    assert record.fields["reason_id"] == "SB101"
    assert record.lineno == branchy.__code__.co_firstlineno + 2
    assert re.fullmatch(r"\d+/0(_\d+)?", record.compile_id), "frame/compile_attempt"


def test_root_logger_is_never_touched():
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    suture.set_logs("+all,graph_breaks")
    assert (root.level, list(root.handlers)) == before
    suture.set_logs("")
    assert logging.getLogger("suture").handlers == []
    assert logging.getLogger("suture.capture").level == logging.NOTSET


def test_help_prints_the_names_and_the_program_goes_on(run_python, seed_program):
    done = run_python(str(seed_program), SUTURE_LOGS="help")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    for name, _, off_by_default, _ in _toolbox.artifact_table():
        assert (f"  {name} " in done.stderr) != off_by_default


def test_bad_environment_is_a_warning_and_the_program_runs(run_python, seed_program):
    done = run_python(str(seed_program), SUTURE_LOGS="graf_breaks")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert "did you mean 'graph_breaks'" in done.stderr


def test_file_and_formats(run_python, seed_program, tmp_path):
    log = tmp_path / "out.log"
    done = run_python(
        str(seed_program), SUTURE_LOGS="graph_breaks", SUTURE_LOGS_OUT=str(log), SUTURE_LOGS_FORMAT="compact"
    )
    assert log.read_text() == done.stderr and done.stderr.startswith("Graph break in user code at ")
    custom = run_python(
        str(seed_program), SUTURE_LOGS="graph_breaks", SUTURE_LOGS_FORMAT="%(levelname)s|%(compile_id)s|%(message)s"
    )
    assert re.match(r"INFO\|0/0(_\d+)?\|Graph break in user code at ", custom.stderr)


def test_unwritable_log_file_is_one_warning(run_python, seed_program):
    done = run_python(str(seed_program), SUTURE_LOGS="graph_breaks", SUTURE_LOGS_OUT="/nonexistent/dir/x.log")
    assert done.returncode == 0 and done.stderr.count("RuntimeWarning") == 1
    assert "Graph break in user code at" in done.stderr


def test_a_break_seen_in_three_compiles_is_shown_once(run_python, seed_program):
    done = run_python(str(seed_program), SUTURE_LOGS="graph_breaks")
    assert done.stderr.count("Graph Break Reason: Data-dependent branching") == 1
    assert done.stderr.count("Same graph break again") == 1


def test_skipped_functions_are_visible_without_any_setting(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def numbers(x):\n"
        "    yield x + 1\n"
        "print(next(numbers(np.ones(1))))\n"
    )
    done = run_python(str(program))
    assert done.stdout == "[2.]\n"
    assert "numbers" in done.stderr and "runs in the interpreter" in done.stderr and "SB501" in done.stderr
