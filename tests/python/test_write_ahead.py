"""What a process was doing when it died is in its record: crashes, kills and hangs, of compiles and of runs."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suture import _core
from suture._minify import record
from suture._minify.oracle import Oracle

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import os, signal, sys, time
import numpy as np
import suture

HOW, WHERE = sys.argv[1:3]

def die():
    print("dying", flush=True)
    if HOW == "hang":
        time.sleep(600)
    elif HOW == "exit":
        os._exit(0)
    elif HOW == "raise":
        raise ValueError("no crash")
    else:
        os.kill(os.getpid(), getattr(signal, HOW))

def backend(graph, example_inputs):
    run = graph.forward()
    if WHERE == "compile":
        die()
    def call(*inputs):
        if WHERE == "run":
            die()
        return run(*inputs)
    return call

@suture.compile(backend=backend)
def f(x, y, s, n):
    return np.maximum(x[::2], s) * y + n

base = np.arange(12, dtype=np.float64)
try:
    f(base, base[1:7], np.float32(1.5), 3)
except ValueError:
    pass
print("graphs", f.status()["graph_count"])
if WHERE == "between":
    die()
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def start(tmp_path: Path, cache: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    (tmp_path / "program.py").write_text(PROGRAM)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        paths = {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", "SUTURE_CACHE_DIR": str(cache)}
        process = subprocess.Popen(
            [sys.executable, *(arguments if arguments[0] == "-c" else ("program.py", *arguments))],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**inherited, **paths, **environment},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def files(cache: Path) -> list[Path]:
    return sorted((cache / "records").iterdir())


@pytest.mark.parametrize("how", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM"])
@pytest.mark.parametrize(("where", "doing"), [("compile", "compiling"), ("run", "running")])
def test_a_process_that_dies_leaves_what_it_was_doing(
    start: Callable[..., Any], cache: Path, tmp_path: Path, how: str, where: str, doing: str
) -> None:
    process = start(how, where)
    assert process.wait(60) == -getattr(signal, how)
    (found,) = record.open_records(cache / "records")
    assert not found.alive and found.pid == process.pid
    assert found.doing == f"{doing} graph f of f ({tmp_path}/program.py:28)"
    assert found.command[1:] == ["program.py", how, where]
    (file,) = files(cache)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_the_record_is_a_case_with_the_inputs_of_the_call(start: Callable[..., Any], cache: Path) -> None:
    start("SIGSEGV", "run").wait(60)
    (found,) = record.open_records(cache / "records")
    repro = record.repro_of(found)
    x, s, y = repro.case.objects()
    assert repro.names == ["x", "s", "y"]
    assert np.array_equal(x, np.arange(12.0)) and np.array_equal(y, np.arange(1.0, 7.0)) and s == np.float32(1.5)
    assert np.shares_memory(x, y)
    repro.case.checked()
    assert repro.case.check == "run" and repro.case.op_count == 4 and repro.expected == {}


def test_the_case_fails_as_the_process_did(
    start: Callable[..., Any], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from suture import _backends

    monkeypatch.setattr(sys, "argv", sys.argv)  # the backend's source sets what it reads
    start("SIGSEGV", "run").wait(60)
    (found,) = record.open_records(cache / "records")
    repro = record.repro_of(found)
    namespace: dict[str, Any] = {}
    exec("def make():\n" + "\n".join(f"    {line}" for line in repro.backend_code.split("\n")), namespace)
    _backends.register_backend("backend", namespace["make"]())
    try:
        with Oracle(repro.case) as oracle:
            (outcome,) = oracle.outcomes([repro.case])
    finally:
        _backends._registered.pop("backend")
    assert (outcome.kind, outcome.stage, outcome.signal) == ("segfault", "run", signal.SIGSEGV)


@pytest.mark.parametrize(
    ("how", "where"), [("raise", "compile"), ("raise", "run"), ("SIGSEGV", "nowhere"), ("raise", "between")]
)
def test_a_process_that_ends_by_itself_leaves_nothing(
    start: Callable[..., Any], cache: Path, how: str, where: str
) -> None:
    process = start(how, where)
    out, _ = process.communicate(timeout=60)
    assert "graphs 1" in out
    assert process.returncode == (1 if where == "between" else 0)
    assert files(cache) == []


@pytest.mark.parametrize("how", ["SIGSEGV", "exit"])
def test_a_process_that_dies_outside_of_graphs_has_nothing_open(
    start: Callable[..., Any], cache: Path, how: str
) -> None:
    start(how, "between").wait(60)
    assert len(files(cache)) == 1 and record.open_records(cache / "records") == []


def test_a_process_that_hangs_is_alive_until_it_is_killed(start: Callable[..., Any], cache: Path) -> None:
    process = start("hang", "run")
    assert process.stdout.readline() == "dying\n"
    (found,) = record.open_records(cache / "records")
    assert found.alive and record.newest_of_the_dead([found]) is None
    process.kill()
    process.wait()
    (found,) = record.open_records(cache / "records")
    assert record.newest_of_the_dead([found]) == found


def test_the_newest_of_several_dead_processes_is_found(start: Callable[..., Any], cache: Path) -> None:
    for where in ("run", "compile"):
        start("SIGKILL", where).wait(60)
    found = record.open_records(cache / "records")
    assert [each.facts["call"]["kind"] for each in found] == ["compile", "run"]


@pytest.mark.parametrize("arguments", [{"SUTURE_RECORD": "off"}, {"SUTURE_CACHE_DIR": "off"}])
def test_off_writes_nothing(start: Callable[..., Any], cache: Path, arguments: dict[str, str]) -> None:
    start("SIGSEGV", "run", **arguments).wait(60)
    assert not (cache / "records").exists()


FORKS = """\
import os, signal, sys
import numpy as np
import suture

@suture.compile(backend="eager", dynamic=False)
def f(x):
    return np.sin(x) + 1

f(np.ones(3))
child = os.fork()
if child == 0:
    @suture.compile(backend=lambda graph, inputs: os.kill(os.getpid(), signal.SIGKILL))
    def g(x):
        return np.cos(x) * 2
    g(np.ones(4))
os.waitpid(child, 0)
f(np.ones(5))
print(child, os.getpid(), len(f.status()["entries"]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_child_has_a_record_of_its_own(start: Callable[..., Any], cache: Path) -> None:
    process = start("-c", FORKS)
    out, _ = process.communicate(timeout=60)
    child, parent, entries = map(int, out.split())
    assert entries == 2
    (found,) = record.open_records(cache / "records")
    assert found.pid == child and found.doing.startswith("compiling graph g")
    names = {file.name.partition("_")[0] for file in files(cache)}
    assert names == {str(child), str(parent)}


EVERY_RUN = """\
import os, signal, sys
import numpy as np
import suture

def backend(graph, inputs):
    run = graph.forward()
    def call(x):
        if x[0] == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        return run(x)
    return call

@suture.compile(backend=backend, options={"record": sys.argv[1]})
def f(x):
    return np.sin(x) + 1

for i in range(50):
    f(np.full(3, float(i)))
"""


def test_always_knows_the_values_of_every_run(start: Callable[..., Any], cache: Path) -> None:
    start("-c", EVERY_RUN, "on-failure").wait(60)
    assert record.open_records(cache / "records") == []  # it ran before, with these shapes
    start("-c", EVERY_RUN, "always").wait(60)
    (found,) = record.open_records(cache / "records")
    case = record.repro_of(found).case
    assert case.objects()[0].tolist() == [40.0, 40.0, 40.0] and case.calls == 16


NATIVE = """\
import os, signal
import numpy as np
import suture

@suture.compile(dynamic=True)
def f(x, n):
    return np.maximum(x, 0.0) * n + x.shape[0]

for size in range(3, 40):
    f(np.ones(size), size)
print(f.status()["graph_count"], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kernels_are_recorded_once_for_each_shape_up_to_a_limit(start: Callable[..., Any], cache: Path) -> None:
    process = start("-c", NATIVE)
    assert process.communicate(timeout=120)[0] == "1\n"
    (file,) = files(cache)
    rows = _core.read_record_file(str(file))["records"]
    assert [row["open"] for row in rows] == [False] * 17  # one compile, sixteen shapes


def test_large_arrays_are_described_and_made_again(start: Callable[..., Any], cache: Path) -> None:
    text = EVERY_RUN.replace("np.full(3, float(i))", "np.linspace(40, 50, 1 << 18)")
    start("-c", text, "on-failure").wait(60)
    (found,) = record.open_records(cache / "records")
    repro = record.repro_of(found)
    (x,) = repro.case.objects()
    assert repro.generated == ["x"] and x.shape == (1 << 18,) and x.min() >= 40 and x.max() <= 50
    (file,) = files(cache)
    assert file.stat().st_size < 1 << 16


def test_a_directory_of_somebody_else_is_not_used(start: Callable[..., Any], cache: Path) -> None:
    (cache / "records").mkdir(parents=True, mode=0o755)
    (cache / "records").chmod(0o777)
    process = start("nothing", "nowhere")
    assert "graphs 1" in process.communicate(timeout=60)[0]
    start("SIGSEGV", "run").wait(60)
    assert files(cache) == []


def test_other_files_and_cut_off_records_are_no_records(start: Callable[..., Any], cache: Path) -> None:
    start("SIGSEGV", "run").wait(60)
    (file,) = files(cache)
    raw = file.read_bytes()
    for i, junk in enumerate((b"", b"x" * 5000, raw[:100], raw[:4096], raw[:4200], raw[:-200])):
        (file.parent / f"{i}_1.record").write_bytes(junk)
    (file.parent / "7_1.record").symlink_to(file)
    (file.parent / "8_1.record").mkdir()
    assert [each.path for each in record.open_records(file.parent)] == [file]


def test_clearing_the_cache_takes_the_records_of_the_dead(start: Callable[..., Any], cache: Path) -> None:
    start("SIGSEGV", "run").wait(60)
    hanging = start("hang", "run")
    assert hanging.stdout.readline() == "dying\n"
    process = start("-c", "import suture; print(suture.cache.clear())")
    assert process.communicate(timeout=60)[0] == "1\n"
    (kept,) = record.open_records(cache / "records")
    assert kept.alive and kept.pid == hanging.pid


def test_what_dead_processes_left_is_bounded(start: Callable[..., Any], cache: Path) -> None:
    start("SIGSEGV", "run").wait(60)
    (file,) = files(cache)
    for i in range(30):
        (file.parent / f"1_{i}.record").write_bytes(file.read_bytes())
        os.utime(file.parent / f"1_{i}.record", (1000 + i, 1000 + i))
    begun = time.time()
    start("SIGSEGV", "run").wait(60)
    kept = record.open_records(file.parent)
    assert len(kept) == 9 and kept[0].began >= begun - 1  # eight of before, and the new one
