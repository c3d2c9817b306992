"""File and function names with ends of lines and control characters: one line in every text, themselves in JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import suture
from suture import _core, _toolbox
from tests.python.conftest import ROOT
from tests.support.oracle import frames_compiled

FORGED = "Graph break in user code at forged"
NAME = f"we\n{FORGED}\x1b[31m\t\r\u2028ird"
SHOWN = "we\\n" + FORGED + "\\x1b[31m\\t\\x0d\\u2028ird"


def named(directory: Path) -> types.FunctionType:
    """A function whose name and file begin new lines."""
    source = (
        "def g(x):\n    y = np.sin(x)\n    print(end='')\n    if y.sum() > 5:\n        return y\n    return y * 2\n"
    )
    namespace = {"np": np}
    exec(compile(source, str(directory / f"{NAME}.py"), "exec"), namespace)
    function = namespace["g"]
    function.__code__ = function.__code__.replace(co_name=NAME, co_qualname=NAME)
    function.__name__ = function.__qualname__ = NAME
    return function


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A compiled function, its event lines, and the trace they are in."""
    directory = tmp_path_factory.mktemp("odd")
    events: list[str] = []
    token = _core.subscribe(None, events.append)
    compiled = suture.compile(named(directory), dynamic=False)
    try:
        for size in (3, 4):
            compiled(np.ones(size))
    finally:
        _core.unsubscribe(token)
    assert frames_compiled(compiled) >= 4
    trace = directory / "trace.jsonl"
    trace.write_text('{"schema":1}\n' + "".join(f"{line}\n" for line in events))
    return compiled, events, trace


def check(text: str) -> None:
    assert SHOWN in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith(FORGED)]
    assert "\x1b" not in text and "\r" not in text


@pytest.mark.parametrize("artifact", [name for name, *_ in _toolbox.artifact_table()])
def test_every_artifact_of_the_logs(run, artifact):
    _, events, _ = run
    renderer = _toolbox.LogRenderer(_toolbox.parse_logs(artifact), None)
    records = [record for line in events for record in renderer.render(line)]
    for record in records:
        assert not [line for line in record.text.splitlines() if line.lstrip().startswith(FORGED)], record.text
        assert "\x1b" not in record.text and "\r" not in record.text
    if artifact in ("graph_breaks", "recompiles", "guards", "trace_source"):
        check("\n".join(record.text for record in records))
        assert NAME in {record.function for record in records}, "fields are as they are"


def test_components_of_the_logs(run):
    _, events, _ = run
    renderer = _toolbox.LogRenderer(_toolbox.parse_logs("+all"), None)
    check("\n".join(record.text for line in events for record in renderer.render(line)))


def test_explain(run):
    compiled, _, _ = run
    explanation = suture.explain(compiled)
    check(str(explanation))
    assert explanation.to_dict()["function"] == NAME and explanation.break_reasons[0]["file"].endswith(f"{NAME}.py")


def test_check(run):
    compiled, events, _ = run
    report = _toolbox.clinic_json(
        events, json.dumps([dict(_core.status(compiled))]), json.dumps({"program": NAME}), None
    )
    check(_toolbox.clinic_text(report))
    assert NAME in {finding["function"] for finding in json.loads(report)["findings"]}


def test_diff(run):
    _, events, _ = run
    check(_toolbox.trace_diff_text([[]], [events]))
    changes = json.loads(_toolbox.trace_diff_json([[]], [events]))["changes"]
    assert NAME in {change["function"] for change in changes}


@pytest.mark.parametrize("command", [["logs"], ["where"]])
def test_the_command_line(run, command):
    _, _, trace = run
    arguments = {"logs": ["logs", str(trace)], "where": ["where", f"{NAME}.py:2", "--in", str(trace)]}[command[0]]
    done = subprocess.run(
        [sys.executable, "-m", "suture", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": f"{ROOT / 'python'}", "PATH": "/usr/bin"},
    )
    assert done.returncode == 0, done.stderr
    check(done.stderr)


def test_the_dump(run, tmp_path):
    compiled, _, _ = run
    suture.dump(compiled, tmp_path / "dump")
    texts = [path.read_text() for path in (tmp_path / "dump").rglob("*.txt")]
    assert len(texts) > 5
    for text in texts:
        assert not [line for line in text.splitlines() if line.lstrip().startswith(FORGED)]
    assert any(SHOWN in text for text in texts)


def test_messages_of_exceptions(run, tmp_path):
    function = named(tmp_path)
    with pytest.raises(suture.GraphBreak) as caught:
        suture.compile(function, fullgraph=True)(np.ones(3))
    check(str(caught.value))
    with pytest.raises(AssertionError) as failed:
        suture.testing.assert_no_graph_breaks(function, np.ones(3))
    check(str(failed.value))
    compiled, _, _ = run
    with pytest.raises(AssertionError) as recompiled:
        suture.testing.assert_max_recompiles(compiled, 0)
    check(str(recompiled.value))
