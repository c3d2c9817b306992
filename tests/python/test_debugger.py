"""debug_info: gdb breaks in kernels at lines of Python, shows them in backtraces, and forgets kernels that are gone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

from tests.python.conftest import ROOT

needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

PROGRAM = """\
import numpy as np
import suture

@suture.compile
def smooth(x, n):
    y = np.sin(x) + 1
    z = y * n - x
    return np.maximum(z, 0)

x = np.linspace(0, 1, 4096)
for _ in range(2):
    result = smooth(x, 3.0)
assert np.allclose(result, np.maximum((np.sin(x) + 1) * 3.0 - x, 0))
print(suture.explain(smooth).graph_count)
"""
MULTIPLY = 7  # line of the program


@pytest.fixture
def under_gdb(write_program, tmp_path):
    """under_gdb(*commands, **environment): what gdb says, running the program with debug_info on."""

    def run(*commands: str, **environment: str) -> str:
        program = write_program(PROGRAM)
        settings = ("set debuginfod enabled off", "set breakpoint pending on", "set width 0", "set confirm off")
        arguments = [word for command in (*settings, *commands) for word in ("-ex", command)]
        child = {"SUTURE_DEBUG_INFO": "1", "SUTURE_CACHE_DIR": str(tmp_path / "cache"), **environment}
        done = subprocess.run(
            ["gdb", "-q", "-nx", "-batch", *arguments, "--args", sys.executable, str(program)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", **child},
            timeout=240,
        )
        if "ptrace" in done.stderr and "not permitted" in done.stderr:
            pytest.skip("this machine does not let gdb run programs")
        return done.stdout + done.stderr

    return run


@needs_gdb
def test_gdb_breaks_at_a_line_of_python_and_names_the_function(under_gdb):
    for attempt in ("compiled", "from the disk cache"):
        said = under_gdb(f"break written.py:{MULTIPLY}", "run", "backtrace 2", "info line", "next", "continue")
        assert re.search(r"^#0 .*\bsmooth \(.*written\.py:7$", said, flags=re.M), (attempt, said)
        assert re.search(r"^#1 .*\bcpp_fused_\w+ \(.*written\.py:\d+$", said, flags=re.M), (attempt, said)
        assert re.search(r'^Line 7 of ".*written\.py"', said, flags=re.M), (attempt, said)
        assert "z = y * n - x" in said, "the text of the line"


@needs_gdb
def test_stepping_stays_in_lines_of_python(under_gdb):
    said = under_gdb(f"break written.py:{MULTIPLY}", "run", "delete", *["step", "frame"] * 6)
    frames = re.findall(r"^#0 .*? at (\S+):(\d+)$", said, flags=re.M)
    assert len(frames) >= 3, said
    assert {file.rsplit("/", 1)[-1] for file, _ in frames} == {"written.py"}, said
    assert {int(line) for _, line in frames} <= {6, 7, 8}


def test_debug_info_is_off_by_default_and_part_of_the_key(run_python, write_program, tmp_path):
    program = write_program(PROGRAM)
    for setting, hits in (("0", False), ("1", False), ("1", True), ("0", True)):
        trace = tmp_path / f"trace{setting}{hits}"
        environment = {
            "SUTURE_DEBUG_INFO": setting,
            "SUTURE_CACHE_DIR": str(tmp_path / "cache"),
            "SUTURE_TRACE": str(trace),
        }
        done = run_python(str(program), **environment)
        assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
        (file,) = trace.glob("*.jsonl")
        compiled = [e for e in map(json.loads, file.read_text().splitlines()) if e.get("event") == "kernel_compiled"]
        assert [event["fields"]["cache_hit"] for event in compiled] == [hits]
    kernels = {file: b".debug_line" in file.read_bytes() for file in (tmp_path / "cache").glob("*.kernel")}
    assert sorted(kernels.values()) == [False, True]
    (source,) = (tmp_path / "cache").glob("*.cpp")
    assert "#line" not in source.read_text(), "the source on disk stays as it reads best"
