"""suture.prepare_debug: complete, linked, also after the fact, harmless to the program."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suture
from suture import _core
from tests.python.conftest import ROOT


def seed(x: Any, n: Any) -> Any:
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n


FIRST = seed.__code__.co_firstlineno


def manifest(directory: str | Path) -> dict[str, Any]:
    index: dict[str, Any] = json.loads((Path(directory) / "index.json").read_text())
    return index


def compiles(directory: str | Path, compiled: Any, frame: int = 0) -> list[dict[str, Any]]:
    """Of the function (frame 0) or of one that it made; the process may hold others of that name."""
    number = compiled.status()["frames"][frame]["frame"]
    return [row for row in manifest(directory)["compiles"] if row["id"].startswith(f"{number}/")]


def test_every_function_compiled_inside_is_there(tmp_path: Path) -> None:
    """2 frames, 1 compile each."""
    compiled = suture.compile(seed)
    with suture.prepare_debug(tmp_path / "d") as directory:
        result = compiled(np.ones((8, 8)), 3.0)
    assert directory == str(tmp_path / "d")
    assert np.array_equal(result, suture.compile(seed)(np.ones((8, 8)), 3.0))
    (whole,) = compiles(directory, compiled)
    frame = compiled.status()["frames"][0]["frame"]
    assert whole["directory"] == f"seed_{frame}_0"
    files = {file["path"] for file in whole["files"]}
    assert files >= {
        "bytecode_before.txt", "bytecode_after.txt", "graph_readable.py", "graph_lowered.txt", "ir_pre_fusion.txt",
        "ir_post_fusion.txt", "output_code.cpp", "guards.txt", "guards.py", "inputs/input_0.npy",
    }  # fmt: skip
    assert len(compiles(directory, compiled, 1)) == 1


def test_the_manifest_links_a_line_through_all_files(tmp_path: Path) -> None:
    """2 frames compile once each."""
    compiled = suture.compile(seed)
    with suture.prepare_debug(tmp_path) as directory:
        compiled(np.ones((8, 8)), 3.0)
    (whole,) = compiles(directory, compiled)
    rows = {row["line"]: row for row in whole["lines"] if row["file"] == __file__}
    row = rows[FIRST + 1]
    assert row["source"] == "    y = np.sin(x) + 1"
    assert set(row["places"]) >= {
        "bytecode_before.txt",
        "graph_readable.py",
        "output_code.cpp",
        "guards.py",
        "guards.txt",
    }
    for name, lines in row["places"].items():
        text = (tmp_path / whole["directory"] / name).read_text().splitlines()
        for line in lines:
            assert f"{Path(__file__).name}:{FIRST + 1}" in text[line - 1]
    page = (tmp_path / "index.html").read_text()
    assert f"{Path(__file__).name}:{FIRST + 1}" in page
    assert "<script" not in page


def test_functions_compiled_before_are_told_from_their_records(tmp_path: Path) -> None:
    """2 frames compile once each, before the block; nothing compiles inside."""
    compiled = suture.compile(seed)
    compiled(np.ones((8, 8)), 3.0)
    before = compiled.status()
    with suture.prepare_debug(tmp_path) as directory:
        pass
    assert compiled.status() == before
    (whole,) = compiles(directory, compiled)
    assert {"graph_readable.py", "output_code.cpp", "guards.py"} <= {file["path"] for file in whole["files"]}


def test_blocks_nest_and_can_be_entered_twice(tmp_path: Path) -> None:
    """1 frame, 3 compiles at most: one in each block."""
    compiled = suture.compile(lambda x: x * 2 + 1, dynamic=False)
    outer = suture.prepare_debug(tmp_path / "outer")
    with outer:
        compiled(np.ones(3))
        with suture.prepare_debug(tmp_path / "inner"), outer:
            compiled(np.ones(4))
        compiled(np.ones(5))
    frame = compiled.status()["frames"][0]["frame"]

    def ids(directory: Path) -> list[str]:
        return [row["id"] for row in manifest(directory)["compiles"] if row["id"].startswith(f"{frame}/")]

    assert ids(tmp_path / "outer") == [f"{frame}/0", f"{frame}/1", f"{frame}/2"]
    assert ids(tmp_path / "inner") == [f"{frame}/0", f"{frame}/1"]
    saved = [d / f"_lambda__{frame}_1" / "inputs" / "input_0.npy" for d in (tmp_path / "outer", tmp_path / "inner")]
    for file in saved:
        assert np.load(file).shape == (4,)


def test_results_and_exceptions_are_those_of_the_program(tmp_path: Path) -> None:
    """1 frame compiles once; what the block raises comes out, and the index is written."""
    compiled = suture.compile(lambda x: x + 1)
    with pytest.raises(ZeroDivisionError), suture.prepare_debug(tmp_path) as directory:
        compiled(np.ones(3))
        raise ZeroDivisionError
    assert any(row["state"] == "compiled" for row in manifest(directory)["compiles"])
    compiled(np.ones(3))


def test_a_directory_that_cannot_be_made_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), suture.prepare_debug(tmp_path / "file" / "below"):
        raise AssertionError("the block must not run")
    assert suture.compile(lambda x: x + 1)(np.zeros(2)).sum() == 2


def test_every_python_file_parses_imports_and_runs(tmp_path: Path) -> None:
    """4 functions compile: 5 frames, once each."""

    class Scale:
        def __init__(self) -> None:
            self.by = 2.0

    scale = Scale()
    programs = [
        suture.compile(seed),
        suture.compile(lambda x: x * scale.by),
        suture.compile(lambda x, *rest, k=3, **more: x * k + sum(rest)),
        suture.compile(lambda x: [x.sum(), x[0]], dynamic=True),
    ]
    with suture.prepare_debug(tmp_path) as directory:
        programs[0](np.ones((8, 8)), 3.0)
        programs[1](np.ones(4))
        programs[2](np.ones(4), 1.0, k=2.0, other=5)
        programs[3](np.ones(7))
    files = sorted(Path(directory).rglob("*.py"))
    assert len(files) >= 3 * 5
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}
    for file in files:
        compile(file.read_text(), str(file), "exec")
        if file.name != "graph_runnable.py":
            runpy.run_path(str(file))
            continue
        done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=environment, timeout=100)
        assert done.returncode in (0, 2), (file, done.stdout, done.stderr)  # 2: inputs are described, not saved


def test_names_are_those_of_the_frames_and_the_same_in_every_run(run_python, write_program, tmp_path: Path) -> None:
    """Each run compiles 2 frames."""
    program = write_program(
        "import numpy as np, suture, os\n"
        "@suture.compile\ndef f(x):\n    y = x + 1\n    if y.sum() > 0:\n        y = y * 2\n    return y\n"
        "with suture.prepare_debug(os.environ['WHERE']):\n    f(np.ones(3))\n"
    )
    listings = []
    for name in ("one", "two"):
        done = run_python(str(program), WHERE=str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        listings.append(sorted(str(p.relative_to(tmp_path / name)) for p in (tmp_path / name).rglob("*")))
    assert listings[0] == listings[1]
    assert "f_0_0/guards.py" in listings[0]


def test_a_forked_child_writes_beside_its_parent(tmp_path: Path) -> None:
    """1 frame compiles in the parent, and once more in the child."""
    compiled = suture.compile(lambda x: x * 3 - 1, dynamic=False)
    with suture.prepare_debug(tmp_path) as directory:
        compiled(np.ones(3))
        child = os.fork()
        if child == 0:
            try:
                compiled(np.ones(4))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    frame = compiled.status()["frames"][0]["frame"]
    assert [row["id"] for row in manifest(directory)["compiles"] if row["id"].startswith(f"{frame}/")] == [f"{frame}/0"]
    assert [row["id"] for row in manifest(tmp_path / f"pid_{child}")["compiles"]] == [f"{frame}/1"]


def test_nothing_is_listened_to_afterwards(tmp_path: Path) -> None:
    """1 frame compiles after the block and is not written."""
    with suture.prepare_debug(tmp_path) as directory:
        pass
    compiled = suture.compile(lambda x: x - 5)
    compiled(np.ones(3))
    frame = compiled.status()["frames"][0]["frame"]
    assert not [row for row in manifest(directory)["compiles"] if row["id"].startswith(f"{frame}/")]
    assert compiled in _core.live_compiled()
