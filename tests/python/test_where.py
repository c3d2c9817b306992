"""suture where: from a line of a kernel to the line of Python and back, out of the cache, a trace and a debug dump."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from suture.cli import VERBS

# Line numbers of the user's program (conftest.SEED) and what stands on them.
SIN, GT, TIMES, MAXIMUM = 7, 8, 9, 10


@pytest.fixture
def recorded(run_python, seed_program, tmp_path) -> dict[str, Path]:
    """The seed program ran with everything on; frames that were compiled: f for two sizes and what follows its break."""
    places = {"cache": tmp_path / "cache", "trace": tmp_path / "trace", "dump": tmp_path / "dump"}
    environment = {
        "SUTURE_CACHE_DIR": str(places["cache"]),
        "SUTURE_TRACE": str(places["trace"]),
        "SUTURE_COMPILE_DEBUG": "1",
        "SUTURE_COMPILE_DEBUG_DIR": str(places["dump"]),
    }
    for _ in range(2):  # the second run is served by the disk cache
        done = run_python(str(seed_program), **environment)
        assert done.returncode == 0, done.stderr
    return places


def statement(path: Path, text: str) -> int:
    """The line of a kernel file on which the text stands, from 1."""
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def answer(run_python, *arguments: str, code: int = 0, **environment: str) -> dict:
    done = run_python("-m", "suture", "where", *arguments, "--json", **environment)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("source", ["cache", "dump"])
def test_every_commented_line_of_every_kernel_file_is_explained_as_its_comment_says(recorded, source):
    from suture import _toolbox
    from suture.cli.where import line_tables

    tables = list(line_tables(str(recorded[source])))
    files = {path: Path(path).read_text().splitlines() for path, _, _ in tables}
    assert len(files) >= 3
    compared = 0
    for path, lines in files.items():
        for number, line in enumerate(lines, 1):
            comment = re.search(r";\s+// prog\.py:(\d+)(?:  (\S.*))?$", line)
            if not comment:
                continue
            (match,) = json.loads(_toolbox.where(tables, f"{path}:{number}")[0])["matches"]
            (place,) = match["places"]
            assert place["line"] == int(comment[1]) and place["function"] == "f" and place["file"].endswith("/prog.py")
            if comment[2]:
                assert comment[2] in {node["target"] for node in match["nodes"]}
            compared += 1
    assert compared > 20


def test_from_a_kernel_line_to_python_in_the_cache(run_python, recorded):
    path = next(path for path in recorded["cache"].glob("f_*.cpp") if "vm_sin" in path.read_text())
    line = statement(path, "vm_sin(")
    environment = {"SUTURE_CACHE_DIR": str(recorded["cache"])}
    for name in (str(path), path.name, path.stem):
        found = answer(run_python, f"{name}:{line}", **environment)
        (match,) = found["matches"]
        assert found["schema"] == "suture.where/1" and found["direction"] == "kernel"
        assert (
            match["nodes"] == [{"name": "sin", "op": "sin", "target": "np.sin"}]
            and match["lines"][0]["kind"] == "compute"
        )
        (place,) = match["places"]
        assert (place["line"], place["source"]) == (SIN, "    y = np.sin(x) + 1")
        assert place["source"][place["column"] : place["end_column"]] == "np.sin(x)"
    said = run_python("-m", "suture", "where", f"{path.name}:{line}", **environment)
    assert said.returncode == 0 and said.stdout == ""
    assert "computes sin (np.sin)" in said.stderr and f"prog.py:{SIN} in f    y = np.sin(x) + 1" in said.stderr


@pytest.mark.parametrize("source", ["cache", "trace", "dump"])
def test_from_a_line_of_python_to_the_kernels(run_python, recorded, source):
    found = answer(run_python, f"prog.py:{MAXIMUM}", "--in", str(recorded[source]))
    assert found["direction"] == "source" and found["matches"]
    assert {"maximum"} <= {node["op"] for match in found["matches"] for node in match["nodes"]}
    for match in found["matches"]:
        assert all(place["line"] == MAXIMUM for place in match["places"])
        path = Path(match["path"])
        lines = path.read_text().splitlines()
        assert any("op_maximum" in lines[line["line"] - 1] for line in match["lines"]), "lines count in the file"


def test_the_kernel_is_found_by_its_name(run_python, recorded):
    found = answer(run_python, "cpp_fused_add_gt_sin_sum_0:2", "--in", str(recorded["trace"]))
    assert {match["kernel"] for match in found["matches"]} == {"cpp_fused_add_gt_sin_sum_0"}
    assert all(match["lines"] == [{"line": 2, "kind": "kernel"} | match["lines"][0]] for match in found["matches"])
    assert {place["line"] for match in found["matches"] for place in match["places"]} == {SIN, GT}


def test_a_line_that_no_kernel_is_made_from_is_a_finding(run_python, recorded):
    found = answer(run_python, "prog.py:5", "--in", str(recorded["trace"]), code=1)
    assert found["matches"] == [] and found["nearest_lines"] == [SIN]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("prg.py:5", "did you mean 'prog.py'?"),
        ("cpp_fused_add_gt_sin_sum_1:5", "did you mean 'cpp_fused_add_gt_sin_sum_0'?"),
        (
            "cpp_fused_add_gt_sin_sum_0:5000",
            "line 5000 is in no kernel of 'cpp_fused_add_gt_sin_sum_0'; there are lines 1 to",
        ),
        ("prog.py", "'prog.py' is not NAME:LINE"),
    ],
)
def test_what_cannot_be_found_is_said_with_what_can(run_python, recorded, place, message):
    done = run_python("-m", "suture", "where", place, "--in", str(recorded["trace"]))
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


def test_places_without_kernels_are_refused(run_python, tmp_path):
    (tmp_path / "empty").mkdir()
    done = run_python("-m", "suture", "where", "f:1", "--in", str(tmp_path / "empty"))
    assert done.returncode == 2 and "holds no kernels" in done.stderr
    assert run_python("-m", "suture", "where", "f:1", "--in", str(tmp_path / "nowhere")).returncode == 2
    assert run_python("-m", "suture", "where", "f:1", SUTURE_CACHE_DIR="off").returncode == 2


def test_nothing_named_in_a_table_is_opened(run_python, recorded, seed_program):
    seed_program.unlink()
    found = answer(run_python, f"prog.py:{TIMES}", "--in", str(recorded["cache"]))
    assert {place["source"] for match in found["matches"] for place in match["places"]} == {"        y = y * 2"}


def test_the_verb_is_listed(run_python):
    assert "where" in VERBS and "which line of Python" in run_python("-m", "suture", "--help").stdout


def test_a_table_that_is_too_large_is_refused_not_cut(tmp_path):
    with open(tmp_path / "f_0.lines.json", "wb") as file:
        file.truncate((64 << 20) + 1)
    done = subprocess.run(
        [sys.executable, "-m", "suture", "where", "f:3", "--in", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and "f_0.lines.json is too large" in done.stderr


@pytest.mark.parametrize(
    "line", ["7.5", "7.0", "-7", "+7", "0", "7-9", "7e0", "7 ", "seven", "", "99999999999999999999"]
)
def test_what_is_no_line_number_is_refused_with_what_is_accepted(run_python, recorded, line):
    done = run_python("-m", "suture", "where", f"prog.py:{line}", "--in", str(recorded["trace"]))
    assert done.returncode == 2 and done.stdout == "" and "no line numbers" not in done.stderr
    assert f"'prog.py:{line}' is not NAME:LINE, for example prog.py:12" in done.stderr
    assert "LINE is one whole number from 1 on; NAME is a kernel" in done.stderr


ONE_LINE = """
import types
import numpy as np, suture

@suture.compile
def f(x):
    return np.sin(x) + np.cos(x) * (x + 1) - np.exp(x)

f(np.ones(40))
namespace = {"np": np}
exec(compile("def g(x):\\n    return np.tanh(x) * 2\\n", "<made>", "exec"), namespace)
bare = types.FunctionType(namespace["g"].__code__.replace(co_linetable=b""), namespace)
g = suture.compile(bare)
g(np.ones(4))
assert f.status()["graph_count"] == g.status()["graph_count"] == 1
"""


@pytest.fixture
def one_line(run_python, write_program, tmp_path) -> tuple[Path, Path]:
    program, trace = write_program(ONE_LINE), tmp_path / "trace"
    done = run_python(str(program), SUTURE_TRACE=str(trace))
    assert done.returncode == 0, done.stderr
    return program, trace


def test_a_place_is_printed_once_however_many_expressions_stand_there(run_python, one_line):
    program, trace = one_line
    found = answer(run_python, f"{program.name}:7", "--in", str(trace))
    assert len(found["matches"][0]["places"]) > 3, "JSON tells them apart by their columns"
    said = run_python("-m", "suture", "where", f"{program.name}:7", "--in", str(trace)).stderr
    assert said.count(f"{program.name}:7 in f    return np.sin(x)") == 1
    kernel = found["matches"][0]
    for line in range(1, 30):
        done = run_python("-m", "suture", "where", f"{kernel['kernel']}:{line}", "--in", str(trace))
        lines = [text for text in done.stderr.splitlines() if text.startswith("  from ")]
        assert len(lines) == len(set(lines)) == (done.returncode == 0), "one line per place"


def test_code_without_line_numbers_is_said_to_have_none(run_python, one_line):
    _, trace = one_line
    done = run_python("-m", "suture", "where", "<made>:2", "--in", str(trace))
    assert done.returncode == 1 and "what kernels are made from there has no line numbers" in done.stderr
    assert "lines that are" not in done.stderr
    assert answer(run_python, "<made>:2", "--in", str(trace), code=1)["nearest_lines"] == []


@pytest.mark.parametrize("line", [7.5, -1, "7", None, 1 << 40])
def test_a_place_whose_line_is_none_is_left_out(line):
    from suture import _toolbox

    table = {
        "schema": "suture.kernel_lines/1",
        "graph": "g",
        "kernels": [{"name": "k", "first_line": 1, "last_line": 9}],
        "nodes": [{"name": "sin", "op": "sin", "target": "np.sin"}],
        "places": [{"file": "p.py", "function": "f", "source": "y", "line": 3}, {"file": "p.py", "line": line}],
        "lines": [{"line": n, "kernel": 0, "node": 0, "place": n - 2, "kind": "compute"} for n in (2, 3)],
    }
    text = _toolbox.where([("g.cpp", 1, json.dumps(table))], "k:9")[1]
    assert text.count("  from ") == 1 and "p.py:3 in f" in text and "no line numbers" not in text
