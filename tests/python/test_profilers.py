"""SUTURE_PERF: what perf is told of kernels, read with parsers of our own, written after perf's documentation of the formats."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.python.conftest import ROOT

PROGRAM = """\
import os, sys
import numpy as np
import suture

@suture.compile
def smooth(x, n):
    y = np.sin(x) + 1
    return np.maximum(y * n - x, 0)

x = np.linspace(0, 1, 4096)
smooth(x, 3.0)
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        suture.compile(lambda x: np.cos(x) * 2)(x)
        os._exit(0)
    os.waitpid(child, 0)
    print(child)
print(os.getpid(), suture.explain(smooth).graph_count)
"""
KERNEL = "cpp_fused_add_maximum_mul_sin_sub_0"
NAME = f"smooth@prog.py:5 [0/0] {KERNEL}"  # and the kernel's file


@pytest.fixture
def run(tmp_path):
    """run(*words, **environment): pids that the program printed (children first) and its stderr."""
    made: list[Path] = []

    def start(*words: str, program: str = PROGRAM, **environment: str) -> tuple[list[int], str]:
        script = tmp_path / "prog.py"
        script.write_text(program)
        done = subprocess.run(
            [sys.executable, str(script), *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}",
                "SUTURE_CACHE_DIR": str(tmp_path / "cache"),
                **environment,
            },
            timeout=240,
        )
        *children, last = done.stdout.splitlines()
        pid, graphs = last.split()
        assert graphs == "1", "a function that is not compiled proves nothing"
        pids = [*map(int, children), int(pid)]
        made.extend(Path(f"/tmp/perf-{pid}.map") for pid in pids)
        return pids, done.stderr

    yield start
    for path in made:
        path.unlink(missing_ok=True)


def read_map(pid: int) -> list[tuple[int, int, str]]:
    rows = [line.split(" ", 2) for line in Path(f"/tmp/perf-{pid}.map").read_text().splitlines()]
    return [(int(start, 16), int(size, 16), name) for start, size, name in rows]


def read_jitdump(path: Path) -> dict[str, Any]:
    """{"pid", "loads": [{"name", "address", "code", "index"}], "lines": {address of the code: [(address, line, file)]}}"""
    data = path.read_bytes()
    magic, version, size, machine, _, pid, _, flags = struct.unpack_from("<6I2Q", data)
    assert (magic, version, size, machine, flags) == (0x4A695444, 1, 40, 62, 0)
    out: dict[str, Any] = {"pid": pid, "loads": [], "lines": {}}
    at = size
    while at < len(data):
        kind, length, _ = struct.unpack_from("<IIQ", data, at)
        body = data[at + 16 : at + length]
        at += length
        if kind == 2:
            address, count = struct.unpack_from("<QQ", body)
            rows, offset = [], 16
            for _ in range(count):
                where, line, _ = struct.unpack_from("<Qii", body, offset)
                end = body.index(b"\0", offset + 16)
                rows.append((where, line, body[offset + 16 : end].decode()))
                offset = end + 1
            assert offset == len(body)
            out["lines"][address] = rows
        else:
            assert kind == 0
            process, _, _, address, code_size, index = struct.unpack_from("<IIQQQQ", body)
            end = body.index(b"\0", 40)
            code = body[end + 1 :]
            assert (process, len(code)) == (pid, code_size)
            out["loads"].append({"name": body[40:end].decode(), "address": address, "code": code, "index": index})
    assert at == len(data), "no record is cut short"
    return out


def test_the_map_names_the_kernel_by_the_users_function(run):
    for _ in ("compiled", "from the disk cache"):
        (pid,), errors = run(SUTURE_PERF="map")
        path = Path(f"/tmp/perf-{pid}.map")
        assert (path.stat().st_mode & 0o777, path.stat().st_uid) == (0o600, os.geteuid())
        ((start, size, _),) = [row for row in read_map(pid) if row[2].startswith(NAME)]
        assert start > 0 and size > 0 and errors == ""


def test_a_child_has_a_map_of_its_own_with_what_its_parent_had(run):
    (child, parent), _ = run("fork", SUTURE_PERF="map")
    assert any(name.startswith(NAME) for _, _, name in read_map(child))
    assert [row for row in read_map(child) if "<lambda>@prog.py:15" in row[2]]
    assert not [row for row in read_map(parent) if "<lambda>" in row[2]]


def test_nothing_is_written_unless_asked_for(run, tmp_path):
    (pid,), _ = run(SUTURE_PERF_DIR=str(tmp_path / "jit"))
    assert not Path(f"/tmp/perf-{pid}.map").exists() and not (tmp_path / "jit").exists()


def test_a_jitdump_has_code_and_lines_of_the_program(run, tmp_path):
    (pid,), errors = run(SUTURE_PERF="jitdump", SUTURE_DEBUG_INFO="1", SUTURE_PERF_DIR=str(tmp_path / "jit"))
    path = tmp_path / "jit" / f"jit-{pid}.dump"
    assert path.stat().st_mode & 0o777 == 0o600 and errors == ""
    dump = read_jitdump(path)
    assert dump["pid"] == pid and [load["index"] for load in dump["loads"]] == list(range(len(dump["loads"])))
    (load,) = [load for load in dump["loads"] if load["name"].startswith(NAME)]
    rows = dump["lines"][load["address"]]
    assert {line for _, line, file in rows if file == str(tmp_path / "prog.py")} == {7, 8}
    assert all(0 <= address - load["address"] < len(load["code"]) for address, _, _ in rows)
    assert [address for address, _, _ in rows] == sorted(address for address, _, _ in rows)


def test_without_line_tables_a_jitdump_has_code_only(run, tmp_path):
    (pid,), _ = run(SUTURE_PERF="jitdump")
    dump = read_jitdump(tmp_path / ".debug" / "jit" / f"jit-{pid}.dump")
    assert any(load["name"].startswith(NAME) for load in dump["loads"]) and dump["lines"] == {}


PARTS = """\
import os
import numpy as np
import suture

@suture.compile
def steps(x):
    y = x + 1
    print(end="")
    for _ in range(3):
        y = y + 1
        print(end="")
    return y

steps(np.ones(64)); steps(np.ones((8, 8)))
twin = suture.compile(lambda x: x + 1); twin(np.ones(64)); twin(np.ones(64, "f4"))
print(os.getpid(), 1)
"""


def test_names_tell_the_function_its_parts_and_its_kernels_apart(run, tmp_path):
    (pid,), errors = run(program=PARTS, SUTURE_PERF="map")
    entries = [name for _, _, name in read_map(pid) if " cpp_fused_add_0 " in name]
    names = [name for name in entries if name.startswith(("steps@", "<lambda>@"))]
    assert len(names) == len(set(names)) and errors == "", "no two kernels look alike"
    starts = [name.split(" [")[0] for name in names]
    assert set(starts) == {"steps@prog.py:5", "steps@prog.py:5 loop:9", "<lambda>@prog.py:15"}
    assert starts.count("steps@prog.py:5") == 2, "one for each rank, and both of one text"
    assert starts.count("<lambda>@prog.py:15") == 2
    for name in names:
        stem = name.split()[-1]
        assert (tmp_path / "cache" / f"{stem}.cpp").is_file(), "the last word is the file of the kernel"


LINKED = PROGRAM.replace("x = np.linspace", 'os.symlink(sys.argv[1], f"/tmp/perf-{os.getpid()}.map")\nx = np.linspace')


def test_a_link_in_the_place_of_the_map_is_not_followed(run, tmp_path):
    _, errors = run(str(tmp_path / "elsewhere"), program=LINKED, SUTURE_PERF="map")
    assert errors.count("Profilers are not told the names of kernels: /tmp/perf-") == 1
    assert not (tmp_path / "elsewhere").exists()


FREED = PROGRAM.replace("x = np.linspace", "gone = suture.compile(lambda x: np.tanh(x))\nx = np.linspace").replace(
    'if "fork"', 'gone(x)\ndel gone\nimport gc; gc.collect()\nif "fork"'
)


def test_a_child_does_not_tell_of_code_that_is_gone(run, tmp_path):
    (child, parent), errors = run("fork", program=FREED, SUTURE_PERF="jitdump")
    names = [load["name"] for load in read_jitdump(tmp_path / ".debug" / "jit" / f"jit-{child}.dump")["loads"]]
    assert any("smooth" in name for name in names) and any("cos" in name for name in names) and errors == ""
    assert not any("tanh" in name for name in names)
    before = [load["name"] for load in read_jitdump(tmp_path / ".debug" / "jit" / f"jit-{parent}.dump")["loads"]]
    assert any("tanh" in name for name in before)


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_perf_itself_makes_objects_from_the_jitdump(run, tmp_path):
    program = PROGRAM.replace("smooth(x, 3.0)\n", "for _ in range(3000):\n    smooth(x, 3.0)\n", 1)
    (tmp_path / "prog.py").write_text(program)
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}",
        "SUTURE_PERF": "jitdump",
        "SUTURE_DEBUG_INFO": "1",
        "SUTURE_CACHE_DIR": str(tmp_path / "cache"),
    }
    record = ["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-o", "perf.data", sys.executable, "prog.py"]
    done = subprocess.run(record, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        pytest.skip(f"this machine does not let perf record: {done.stderr[:200]}")
    for command in (
        ["perf", "inject", "--jit", "-i", "perf.data", "-o", "perf.jit.data"],
        ["perf", "report", "--stdio", "-i", "perf.jit.data", "--sort", "symbol"],
    ):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
    assert KERNEL in done.stdout
