"""Logs: SUTURE_LOGS, set_logs, and delivery through Python's logging. The texts are tested in tests/unit/toolbox."""

from __future__ import annotations

import io
import json
import logging
import re
from contextlib import redirect_stderr

import numpy as np
import pytest

import suture
from suture import _core, _toolbox


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
    names = [row[0] for row in [*_toolbox.artifact_table(), *_toolbox.component_table()]]
    for name in names:
        assert re.search(rf"^  {name}[ *]", done.stderr, re.MULTILINE), name
    more = run_python(str(seed_program), SUTURE_LOGS="+help").stderr
    assert "from the events graph_break frame_skipped" in more
    assert len(more.splitlines()) > len(done.stderr.splitlines())


def test_bad_environment_is_a_warning_and_the_program_runs(run_python, seed_program):
    done = run_python(str(seed_program), SUTURE_LOGS="graf_breaks")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert "did you mean 'graph_breaks'" in done.stderr


def test_file_and_formats(run_python, seed_program, tmp_path):
    log = tmp_path / "out.log"
    to_file = {"SUTURE_LOGS": "graph_breaks", "SUTURE_LOGS_FORMAT": "compact"}
    done = run_python(str(seed_program), SUTURE_LOGS_OUT=str(log), **to_file)
    text = log.read_text()
    assert done.stderr == "" and text.startswith("Graph break in user code at ")
    done = run_python(str(seed_program), SUTURE_LOGS_OUT=f"+{log}", **to_file)
    assert done.stderr == text and log.read_text() == text * 2, "both, appended"
    full = run_python(str(seed_program), SUTURE_LOGS="graph_breaks", SUTURE_LOGS_FORMAT="full").stderr
    assert re.match(r"\d{4}-\d\d-\d\d [\d:,]+ INFO \d+ prog.py:8 \[0/0(_\d+)?\] graph_breaks: Graph break", full)
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


def test_set_logs_is_a_context_manager_that_restores_the_former_settings():
    suture.set_logs("recompiles")
    out = io.StringIO()
    with redirect_stderr(out):
        with suture.set_logs("graph_breaks"):
            assert suture.config.logs == "graph_breaks"
            with suture.set_logs("-all"):
                pass
            suture.compile(branchy)(np.ones(3))
        assert suture.config.logs == "recompiles"
        suture.compile(branchy)(np.ones(3))
        with pytest.raises(ZeroDivisionError), suture.set_logs("guards"):
            raise ZeroDivisionError
    assert suture.config.logs == "recompiles"
    assert out.getvalue().count("Graph break in user code at") == 1


def test_a_switched_off_artifact_stays_off_when_its_component_is_at_debug():
    for settings in ("+capture,-graph_breaks", "-graph_breaks,+capture", "+all,-graph_breaks"):
        out = io.StringIO()
        with redirect_stderr(out), suture.set_logs(settings):
            suture.compile(branchy)(np.ones(3))
        assert "capturing function branchy" in out.getvalue()
        assert "Graph break in user code" not in out.getvalue()


def test_filters_choose_functions_files_and_ids():
    def other(x):
        return x + 1

    def logged(settings):
        out = io.StringIO()
        with redirect_stderr(out), suture.set_logs(settings):
            suture.compile(branchy)(np.ones(3))
            suture.compile(other)(np.ones(3))
        return out.getvalue()

    both = logged("graph_code")
    assert "of branchy" in both and "other (" in both
    only = logged("graph_code,@function=other")
    assert "branchy" not in only and "other (" in only
    assert logged("graph_code,@file=*/nothing.py") == ""
    assert "of branchy" in logged(f"graph_code,@function=branchy*,@file={__file__}")
    with pytest.raises(ValueError, match="did you mean '@function='"):
        suture.set_logs("@functoin=f")


def test_compact_graph_code_can_be_pasted_and_run():
    suture.config.logs_format = "compact"
    out = io.StringIO()
    with redirect_stderr(out), suture.set_logs("graph_code"):
        suture.compile(lambda x: np.sin(x) + 1)(np.ones(3))
    space = {}
    exec(out.getvalue(), space)
    assert space["forward"](np.zeros(2))[0].tolist() == [1.0, 1.0]


BREAKING_PROGRAM = """\
import os, sys, numpy as np, suture
@suture.compile
def f(x):
    y = x + 1
    if y.sum() > 0: y = y * 2
    return y
"""

HOSTILE_STREAMS = {
    "closed_stderr": "sys.stderr.close()",
    "no_stderr": "sys.stderr = None",
    "closed_descriptor": "os.close(2)",
    "full_disk": "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)",
    "broken_pipe": "r, w = os.pipe(); os.dup2(w, 2); os.close(w); os.close(r)",
    "raising_stream": "sys.stderr = type('S', (), {'write': lambda *a: 1 / 0, 'flush': lambda *a: None})()",
}


@pytest.mark.parametrize("what", HOSTILE_STREAMS)
def test_a_bad_stderr_never_hurts_the_program(run_python, write_program, what):
    program = write_program(
        BREAKING_PROGRAM + f"{HOSTILE_STREAMS[what]}\n"
        "with suture.set_logs('+all,graph_breaks,help'):\n"
        "    print(f(np.ones(2)), flush=True)\n"
    )
    done = run_python(str(program))
    assert done.stdout == "[4. 4.]\n"
    assert done.returncode == 0


def test_a_full_log_file_is_one_warning(run_python, seed_program):
    done = run_python(str(seed_program), SUTURE_LOGS="+all,graph_breaks", SUTURE_LOGS_OUT="/dev/full")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert done.stderr.count("RuntimeWarning") == 1 and "/dev/full" in done.stderr and "Traceback" not in done.stderr


def test_warnings_as_errors_do_not_stop_the_program(run_python, seed_program):
    done = run_python("-W", "error", str(seed_program), SUTURE_LOGS="graph_breaks,nonsense", SUTURE_TRACE="/dev/null/x")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert "nonsense" in done.stderr and "SUTURE_TRACE" in done.stderr


def test_hostile_sources_are_quoted_safely(run_python, write_program):
    program = write_program(
        "# -*- coding: utf-8 -*-\n"
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def größe_变量(x):\n"
        "    y = x + 1\n"
        "    if y.sum() > 0 and '\x1b[31m\u202e" + "é" * 200_000 + "': y = y * 2\n"
        "    return y\n"
        "print(größe_变量(np.ones(2)))\n"
    )
    done = run_python(str(program), SUTURE_LOGS="graph_breaks,trace_source,trace_call,trace_bytecode,guards")
    assert done.stdout == "[4. 4.]\n"
    assert "\x1b" not in done.stderr and "\u202e" not in done.stderr and "größe_变量" in done.stderr
    assert "\\x1b[31m" in done.stderr
    quotes = [line for line in done.stderr.splitlines() if " | " in line and "y.sum() > 0" in line]
    assert quotes and max(map(len, quotes)) < 300


def test_a_forked_child_does_not_double_what_its_parent_logs(run_python, write_program, tmp_path):
    program = write_program(
        BREAKING_PROGRAM + "for size in (2, 3, 4): f(np.ones((size, size)))\n"
        "pid = os.fork()\n"
        "if not pid: sys.exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    log = tmp_path / "log"
    run_python(str(program), SUTURE_LOGS="graph_breaks,recompiles", SUTURE_LOGS_OUT=str(log))
    lines = log.read_text().splitlines()
    assert sum("Graph break in user code" in line for line in lines) == 1
    assert sum("not shown" in line for line in lines) <= 1


def _nothing(x):
    return 3


def _break_first(x):
    print("first", end="")
    return x + 1


def _break_in_loop(x):
    for name in ("a", "b", "c"):
        print(name, end="")
        x = x + 1
    return x


def _inner(x):
    y = x * 2
    print("inner", end="")
    return y + 1


def _middle(x):
    return _inner(x) * 2


def _nested(x):
    return _middle(x + 1) + 1


def _raises(x):
    y = x + 1
    if y.sum() > 0:
        raise KeyError("no")
    return y


# function -> places that break, "function:line reason", whatever the tool that counts
BREAKS = {
    _nothing: [],
    _break_first: ["_break_first:1 SB203"],
    _break_in_loop: ["_break_in_loop:2 SB203"],  # and what it does to the loop is an effect of it
    _nested: ["_inner:2 SB203", "_middle:1 SB206", "_nested:1 SB206"],
    _raises: ["_raises:2 SB101", "_raises:3 SB405"],  # making the exception and raising it are one
}


@pytest.mark.parametrize("function", BREAKS, ids=lambda function: function.__name__)
def test_breaks_are_counted_by_place_in_logs_and_explain_alike(function, capsys):
    events: list[str] = []
    token = _core.subscribe(["graph_break"], events.append)
    out = io.StringIO()
    compiled = suture.compile(function)
    try:
        with redirect_stderr(out), suture.set_logs("graph_breaks"):
            for size in (2, 3, 4):  # the second size recompiles: no new places
                try:
                    compiled(np.ones(size))
                except KeyError:
                    assert function is _raises
    finally:
        _core.unsubscribe(token)
    fields = [json.loads(event)["fields"] for event in events]
    functions = [(f.__code__.co_firstlineno, f.__name__) for f in (*BREAKS, _inner, _middle)]

    def place(field):  # resume and iteration functions have the lines of the function they come from
        start, name = max(row for row in functions if row[0] <= field["line"])
        return f"{name}:{field['line'] - start} {field['reason_id']}", field["column"]

    places = sorted(name for name, _ in {place(field) for field in fields})
    assert places == BREAKS[function]
    assert out.getvalue().count("Graph break in user code at") == len(places)
    assert suture.explain(compiled).graph_break_count == len(places)


def test_asm_is_made_for_the_log_that_names_it(run_python, seed_program):
    done = run_python(str(seed_program), SUTURE_LOGS="asm", SUTURE_LOGS_FORMAT="compact")
    assert done.stderr.count("# Assembly of graph") == 4 and "cpp_fused_" in done.stderr
    assert "ret" in done.stderr
    assert "# Assembly" not in run_python(str(seed_program), SUTURE_LOGS="+codegen").stderr


def test_callers_of_a_break_in_an_inlined_function_are_listed(run_python, write_program):
    program = write_program(
        "import functools, numpy as np, suture\n"
        "def inner(x):\n"
        "    print('here')\n"
        "    return x + 1\n"
        "def middle(x):\n"
        "    return inner(x) * 2\n"
        "@suture.compile\n"
        "def f(x):\n"
        "    return middle(x) - 1\n"
        "f(np.ones(3))\n"
    )
    text = run_python(str(program), SUTURE_LOGS="graph_breaks").stderr
    chain = (
        "    caused at {0}:3 in inner:  print('here')\n    called from {0}:6 in middle:  return inner(x) * 2\n"
    ).format(program)
    # One break per function, each compiled on its own; what is between cause and place stands below it.
    assert text.count("Graph break in user code at") == 3 and text.count(chain) == 1
    assert text.count(f"    caused at {program}:3 in inner:  print('here')\n") == 2


def test_a_recompile_during_explain_adds_no_break():
    def twice(x):
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        return y

    compiled = suture.compile(twice)
    compiled(np.ones(2))
    explained = suture.explain(twice)(np.ones(3))
    compiled(np.ones(4))
    assert explained.graph_break_count == 1
    assert suture.explain(compiled).graph_break_count == 1
