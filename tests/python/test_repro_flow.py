"""From a failure to a minimal repro, as a user goes: the program fails, the launcher reduces, the repro proves itself.

Every step is a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from suture._minify import repro_file

ROOT = Path(__file__).resolve().parents[2]

# The seed: five ops, a backend that cannot handle one of them.
SEED = """\
import os
import numpy as np
import suture

def day27_bad(graph, example_inputs):
    for node in graph.nodes:
        if node["op"] == "maximum":
            raise RuntimeError("day27_bad backend cannot handle relu")
    return graph.forward()

@suture.compile(backend=day27_bad)
def f(x):
    a = np.sin(x) + 1.0
    y = np.cos(a)
    z = np.maximum(y, 0.0)
    return z * 2.0

try:
    f(np.linspace(-1, 1, 8))
except suture.BackendCompilerFailed as error:
    print(f"{type(error).__name__}: {error}")
print("minifier_launcher.py written:", os.path.exists("minifier_launcher.py"))
"""

# A fault that is told by name.
FAULTY = """\
import sys
import numpy as np
import suture

@suture.compile(backend=sys.argv[1])
def f(x, y):
    a = np.exp(x * 0.1) + y
    b = np.sqrt(np.abs(a)) - x
    c = np.maximum(b, y.mean())
    return np.tanh(c) * a + x.sum()

x = np.linspace(0.5, 2.0, 24).reshape(4, 6)
print(f(x, x[::-1]).shape)
print("graphs", f.status()["graph_count"])
"""


class Workplace:
    """An empty directory in which programs run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
        paths = {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", "SUTURE_CACHE_DIR": str(path / "cache")}
        self._environment = {**inherited, **paths}
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.path,
            env={**self._environment, **environment},
        )
        self._started.append(process)
        return process

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=240)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def suture(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "suture", *arguments, **environment)

    def write(self, name: str, text: str) -> str:
        (self.path / name).write_text(text)
        return name

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Workplace]:
    place = Workplace(tmp_path)
    yield place
    place.close()


def body_of(path: Path) -> list[str]:
    """The statements of the graph in a repro file, without comments."""
    text = path.read_text().partition("def forward(")[2].partition("\n\n")[0]
    return [line.partition("  #")[0].strip() for line in text.splitlines()[1:]]


def test_the_flow_of_the_seed(work: Workplace) -> None:
    failed = work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="dynamo")
    assert failed.stdout.splitlines()[0].startswith("BackendCompilerFailed: day27_bad")
    assert failed.stdout.splitlines()[0].endswith("day27_bad backend cannot handle relu")
    assert failed.stdout.splitlines()[-1] == "minifier_launcher.py written: True"

    (work.path / "prog.py").unlink()  # nothing but the launcher is needed from here on
    reduced = work.run("minifier_launcher.py")
    assert reduced.returncode == 0, reduced
    assert re.search(r"^SUCCESS: Went from \d to 1 nodes$", reduced.stdout, re.M)
    assert reduced.stdout.splitlines()[-2:] == [
        "It fails the same way in a new process.",
        "Wrote minimal repro out to repro.py",
    ]

    body = body_of(work.path / "repro.py")
    assert len(body) == 2 and body[0].startswith("maximum = np.maximum(") and body[1] == "return (maximum,)"
    alone = work.run("repro.py")
    assert alone.returncode == 1
    assert alone.stdout.splitlines()[-1].endswith("RuntimeError: day27_bad backend cannot handle relu")
    passing = work.run("repro_pass.py", "query")
    assert passing.returncode == 0 and passing.stdout.startswith("NOT REPRODUCED")


def test_the_command_reduces_what_the_launcher_holds(work: Workplace) -> None:
    work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="capture")
    done = work.suture("minify", "minifier_launcher.py", "--json", "--out", "out", "--log", "steps.txt")
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert found["schema"] == "suture.minify/1" and found["verdict"] == "minimised" and found["complete"]
    assert (found["ops_before"], found["ops_after"]) == (5, 1) and found["calls"] <= 12
    assert found["repro"] == str(Path("out/repro.py")) and (work.path / "out" / "repro.py").exists()
    assert found["signature"]["exception"] == "RuntimeError"
    assert "Wrote minimal repro out to out/repro.py" in done.stderr
    steps = (work.path / "steps.txt").read_text().splitlines()
    assert len(steps) == len(found["steps"]) > 0
    assert any(line.endswith("taken") for line in steps) and any(line.endswith("refused") for line in steps)


@pytest.mark.parametrize(
    ("kind", "code"), [("segfault", -signal.SIGSEGV), ("abort", -signal.SIGABRT), ("killed", -signal.SIGKILL)]
)
def test_a_crash_is_reduced_after_the_process_died(work: Workplace, kind: str, code: int) -> None:
    """No option is set: the record is written by default."""
    died = work.run(work.write("prog.py", FAULTY), f"faulty:op=maximum,kind={kind}")
    assert died.returncode == code
    done = work.suture("minify", "--last")
    assert done.returncode == 0, done
    told = r"taken: process \d+ died while running graph f of f \(.*prog.py:5\), begun \d+ s ago, \d{4}-.*:\d\d: .*prog.py faulty:"
    assert re.search(told, done.stderr), done.stderr
    assert done.stderr.splitlines()[-1] == "Wrote minimal repro out to repro.py"
    assert len(body_of(work.path / "repro.py")) == 2
    alone = work.run("repro.py", "query")
    assert alone.returncode == 1 and alone.stdout.startswith(f"REPRODUCED: {kind}")


def test_a_hang_is_reduced_once_it_was_killed(work: Workplace) -> None:
    work.write("prog.py", FAULTY)
    hanging = work.start("prog.py", "faulty:op=maximum,kind=hang")
    for _ in range(240):
        if "running graph f" in (listed := work.suture("minify", "--list").stderr):
            break
        time.sleep(0.25)
    assert f"process {hanging.pid} (alive): running graph f of f" in listed

    early = work.suture("minify", "--last")
    assert early.returncode == 1
    assert "no process died while it compiled or ran a graph" in early.stderr
    assert f"left out: process {hanging.pid} is alive and has been running graph f of f" in early.stderr
    assert f"or: suture minify --process {hanging.pid}\n" in early.stderr
    assert not list(work.path.glob("*repro*.py"))

    hanging.kill()
    hanging.wait()
    done = work.suture("minify", "--last", "--run-limit", "2")
    assert done.returncode == 0, done
    assert len(body_of(work.path / "repro.py")) == 2
    assert repro_file.load(work.path / "repro.py").origin["run_limit"] == 2.0
    assert work.run("repro.py", "query").returncode == 1


def test_what_is_newer_than_the_record_that_is_taken_is_told_of_and_can_be_named(work: Workplace) -> None:
    work.write("prog.py", FAULTY)
    died = work.start("prog.py", "faulty:op=maximum,kind=killed")
    died.wait()
    hanging = work.start("prog.py", "faulty:op=sqrt,kind=hang")
    for _ in range(240):
        if f"process {hanging.pid} (alive)" in work.suture("minify", "--list").stderr:
            break
        time.sleep(0.25)
    records = next(
        Path(row["record"]).parent for row in json.loads(work.suture("minify", "--list", "--json").stdout)["records"]
    )
    (records / "1_x.record").write_text("no record")
    try:
        done = work.suture("minify", "--last", "--out", "last")
        assert done.returncode == 0, done
        first, *rest = done.stderr.splitlines()
        assert first.startswith(f"taken: process {died.pid} died while running graph f of f (")
        assert first.endswith(" prog.py faulty:op=maximum,kind=killed")
        assert rest[0].startswith(f"left out: process {hanging.pid} is alive and has been running graph f of f (")
        assert rest[0].endswith(
            f" prog.py faulty:op=sqrt,kind=hang; end it and run this again, or: suture minify --process {hanging.pid}"
        )
        assert rest[1] == f"left out: {records / '1_x.record'}: it is no record of a process"

        named = work.suture("minify", "--process", str(hanging.pid), "--out", "named", "--run-limit", "2")
        assert named.returncode == 0, named
        assert f"taken: process {hanging.pid} is alive and has been" in named.stderr and "left out" not in named.stderr
        assert "np.sqrt(" in "".join(body_of(work.path / "named" / "repro.py"))
    finally:
        hanging.kill()
        hanging.wait()


def test_a_process_without_a_record_and_one_that_cannot_be_done_again_are_told_of(work: Workplace) -> None:
    done = work.suture("minify", "--process", "1")
    assert done.returncode == 1
    assert done.stderr == "there is no record of process 1; suture minify --list says of which there are\n"
    off = work.suture("minify", "--last", SUTURE_CACHE_DIR="off")
    assert off.returncode == 1 and "SUTURE_CACHE_DIR" in off.stderr


def test_nothing_to_reduce_is_said(work: Workplace) -> None:
    work.run(work.write("prog.py", FAULTY), "eager")
    done = work.suture("minify", "--last")
    assert done.returncode == 1
    assert done.stderr == "no process died while it compiled or ran a graph\n"
    assert work.suture("minify", "--list").stderr == "nothing was begun and not ended\n"


def test_a_wrong_value_is_found_at_level_4_and_reduced(work: Workplace) -> None:
    environment = {"SUTURE_REPRO_AFTER": "capture", "SUTURE_REPRO_LEVEL": "4"}
    failed = work.run(work.write("prog.py", FAULTY), "faulty:op=maximum,kind=wrong_value", **environment)
    assert failed.returncode == 1
    assert "suture.BackendCompilerFailed: " in failed.stderr or "BackendCompilerFailed: " in failed.stderr
    assert failed.stderr.splitlines()[-1] == f"  python {work.path / 'minifier_launcher.py'}"
    reduced = work.run("minifier_launcher.py")
    assert reduced.returncode == 0, reduced
    assert len(body_of(work.path / "repro.py")) == 2
    analysed = work.run("repro.py", "analyze")
    assert "maximum" in analysed.stdout
    explained = work.run("repro.py", "explain")
    assert explained.returncode == 0 and "expected  wrong_value" in explained.stdout


def test_a_failure_of_the_second_call_needs_two_calls(work: Workplace) -> None:
    text = FAULTY.replace("print(f(x", "f(x, x[::-1])\nprint(f(x")
    fault = "faulty:op=maximum,kind=second_call_error"
    failed = work.run(work.write("prog.py", text), fault, SUTURE_REPRO_AFTER="capture")
    assert "suture.BackendCompilerFailed: " in failed.stderr
    assert work.run("minifier_launcher.py").returncode == 0
    assert repro_file.load(work.path / "repro.py").case.calls == 2
    assert len(body_of(work.path / "repro.py")) == 2


def test_a_launcher_whose_failure_is_gone_reduces_nothing(work: Workplace) -> None:
    work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="capture")
    launcher = work.path / "minifier_launcher.py"
    launcher.write_text(launcher.read_text().replace('== "maximum"', '== "minimum"'))
    done = work.run("minifier_launcher.py")
    assert done.returncode == 1 and done.stdout.startswith("NOT REPRODUCED: ")
    assert not (work.path / "repro.py").exists()


SLOW = SEED.replace(
    "    for node", '    import time; time.sleep(0.4); print("asked", flush=True)\n    for node'
).replace("    a = np.sin(x) + 1.0\n", "    a = x\n" + "    a = np.sin(a) + 1.0\n" * 40)


def test_what_an_interrupt_finds_is_written_and_the_search_goes_on_from_there(work: Workplace) -> None:
    work.run(work.write("prog.py", SLOW), SUTURE_REPRO_AFTER="capture")
    command = ("minifier_launcher.py", "--checkpoint", "checkpoint", "--workers", "1")
    stopped = work.start(*command)
    line = ""
    while not line.startswith("SUCCESS"):
        line = stopped.stdout.readline()
        assert line
    stopped.send_signal(signal.SIGINT)
    out, _ = stopped.communicate(timeout=60)
    assert stopped.returncode == 130, out
    assert "The same command goes on from checkpoint.\n" in out
    assert "not complete: interrupted" in out and out.endswith("Wrote minimal repro out to repro.py\n")
    assert work.run("repro.py", "query").returncode == 1
    assert (work.path / "checkpoint").exists()

    known = len((work.path / "checkpoint").read_text().splitlines()) - 1
    assert known > 0
    done = work.run(*command)
    assert done.returncode == 0 and done.stdout.endswith("Wrote minimal repro out to repro_1.py\n"), done
    assert not (work.path / "checkpoint").exists()
    assert len(body_of(work.path / "repro_1.py")) == 2


def test_a_budget_ends_the_search_with_what_there_is(work: Workplace) -> None:
    work.run(work.write("prog.py", SLOW.replace("sleep(0.4)", "sleep(0)")), SUTURE_REPRO_AFTER="capture")
    done = work.run("minifier_launcher.py", "--budget", "2")
    assert "not complete: the budget of 2 oracle calls is used up" in done.stdout
    assert "With --checkpoint FILE a search that ends too early can be taken up where it was.\n" in done.stdout
    assert done.returncode == 0 and work.run("repro.py", "query").returncode == 1


def test_a_place_that_cannot_be_written_costs_the_file_only(work: Workplace) -> None:
    work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="capture")
    work.write("file", "")
    done = work.run("minifier_launcher.py", "--out", "file")
    assert done.returncode == 77
    assert "maximum = np.maximum(" in done.stdout  # the result is told
    assert done.stdout.splitlines()[-1].startswith("CANNOT RUN HERE: no file could be written: File exists")


@pytest.mark.parametrize(
    "arguments", [[], ["--last", "x.py"], ["missing.py"], ["prog.py"], ["--workers", "0", "x.py"], ["--last", "--list"]]
)
def test_wrong_words_are_usage_errors(work: Workplace, arguments: list[str]) -> None:
    work.write("prog.py", SEED)
    done = work.suture("minify", *arguments)
    assert done.returncode == 2 and done.stdout == "" and "suture minify" in done.stderr


def test_files_are_for_their_owner(work: Workplace) -> None:
    work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="capture")
    work.run("minifier_launcher.py")
    for name in ("minifier_launcher.py", "repro.py", "repro_pass.py"):
        assert stat.S_IMODE((work.path / name).stat().st_mode) == 0o600
        assert repro_file.load(work.path / name).title


def test_explain_runs_nothing_of_the_file(work: Workplace) -> None:
    work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="capture")
    launcher = work.path / "minifier_launcher.py"
    launcher.write_text(launcher.read_text().replace("def make_backend():\n", "def make_backend():\n    1 / 0\n"))
    explained = work.run("minifier_launcher.py", "explain")
    assert explained.returncode == 0 and "backend   day27_bad (its source is in the file)" in explained.stdout
    run = work.run("minifier_launcher.py", "run")
    assert run.returncode == 77
    assert run.stdout == "CANNOT RUN HERE: the backend could not be made: ZeroDivisionError: division by zero\n"


ARGUED = """\
import sys
import numpy as np
import suture
import helper
from rules.names import refused

def argued(graph, example_inputs):
    if any(node["op"] in refused for node in graph.nodes) and sys.argv[1:] == ["--strict", "2"]:
        raise RuntimeError(helper.text(sys.argv[0]))
    return graph.forward()

@suture.compile(backend=argued)
def f(x):
    return np.tanh(np.maximum(np.sin(x), 0.5)) * 2.0

f(np.linspace(-1, 1, 8))
"""


def test_a_backend_that_reads_arguments_and_modules_of_its_program_runs_without_it(work: Workplace) -> None:
    work.write("helper.py", "def text(program):\n    return f'refused by {program}'\n")
    (work.path / "rules").mkdir()  # a package without __init__.py
    work.write("rules/names.py", "refused = {'maximum'}\n")
    program = work.write("prog.py", ARGUED)
    assert work.run(program).returncode == 0
    failed = work.run(program, "--strict", "2", SUTURE_REPRO_AFTER="capture")
    assert f"refused by {program}" in failed.stderr
    elsewhere = work.path / "elsewhere"
    elsewhere.mkdir()
    (work.path / "minifier_launcher.py").rename(elsewhere / "launcher.py")
    reduced = work.run(str(elsewhere / "launcher.py"))
    assert reduced.returncode == 0 and "It fails the same way in a new process." in reduced.stdout, reduced
    assert len(body_of(work.path / "repro.py")) == 2
    places = f"helper ({work.path}/helper.py), rules ({work.path}/rules/)"
    told = f"its source is in the file, which imports {places}: send them along"
    assert f"backend   argued ({told})" in work.run("repro.py", "explain").stdout
    assert f"The backend: {told}.\n" in failed.stderr and f"The backend: {told}.\n" in reduced.stdout


IMPORTED = """\
import numpy as np
import suture
from vendor import backend_of_vendor

@suture.compile(backend=backend_of_vendor)
def f(x):
    return np.maximum(x, 0.5) * 2.0

f(np.linspace(-1, 1, 5000))
"""
VENDOR = """\
import rules

def backend_of_vendor(graph, example_inputs):
    if any(node["op"] == rules.REFUSED for node in graph.nodes):
        raise RuntimeError("refused")
    return graph.forward()
"""


def test_what_a_file_needs_beside_it_is_told(work: Workplace) -> None:
    """A backend of a module, and data: the exception, the end of a reduction and `explain` name both, and they are all it needs."""
    work.write("rules.py", "REFUSED = 'maximum'\n")
    work.write("vendor.py", VENDOR)
    failed = work.run(work.write("prog.py", IMPORTED), SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="1")
    modules = f"vendor ({work.path}/vendor.py), with rules ({work.path}/rules.py)"
    source, data = (
        f"imported from {modules}: send them along",
        "in repro_data/ beside the file: copy the directory along",
    )
    assert failed.stderr.endswith(
        f"The backend: {source}.\nThe data of inputs: {data}.\n  python {work.path}/repro.py\n"
    )
    told = work.run("repro.py", "explain").stdout
    assert f"backend   backend_of_vendor ({source})\n" in told and f"data      {data}\n" in told
    (work.path / "away").mkdir()
    for name in ("repro.py", "vendor.py"):
        (work.path / name).rename(work.path / "away" / name)
    missing = work.run("away/repro.py", "query")
    assert missing.returncode == 77 and "copy the directory repro_data/ along" in missing.stdout
    (work.path / "repro_data").rename(work.path / "away" / "repro_data")
    (work.path / "rules.py").rename(work.path / "away" / "rules.py")
    assert work.run("away/repro.py", "query").returncode == 1
    (work.path / "away" / "vendor.py").unlink()
    gone = work.run("away/repro.py", "explain").stdout
    assert "(imported from vendor, which is not found here: put it beside the file)" in gone


TILED = """\
import numpy as np
import suture

class Tiler:
    def __call__(self, graph, example_inputs):
        if any(node["op"] == "maximum" for node in graph.nodes):
            raise RuntimeError("refused")
        return graph.forward()

@suture.compile(backend=Tiler())
def f(x):
    return np.maximum(np.sin(x), 0.5) * 2.0

if __name__ == "__main__":
    f(np.linspace(-1, 1, 8))
"""


def test_a_backend_without_source_has_to_be_written_into_the_file_first(work: Workplace) -> None:
    failed = work.run(work.write("tiled.py", TILED), SUTURE_REPRO_AFTER="capture")
    launcher = work.path / "minifier_launcher.py"
    lines = launcher.read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.startswith("    raise LookupError("))
    place = f"{launcher}:{number}"
    assert f"It cannot run yet: write the backend into make_backend() first, at {place} (" in failed.stderr
    assert failed.stderr.endswith(f"Then run:\n  python {launcher}\n")
    refused = work.run("minifier_launcher.py")
    assert refused.returncode == 77 and f"minifier_launcher.py:{number}, make_backend(): " in refused.stdout
    lines[number - 1] = "    from tiled import Tiler\n    return Tiler()"
    launcher.write_text("\n".join(lines))
    told = work.run("minifier_launcher.py", "explain").stdout
    assert f"backend   Tiler (imported from tiled ({work.path}/tiled.py): send it along)\n" in told
    assert work.run("minifier_launcher.py").stdout.endswith("Wrote minimal repro out to repro.py\n")


def run_into(work: Workplace, descriptor: int, *arguments: str) -> tuple[int, str]:
    """Exit code and stderr of a run whose output goes there."""
    done = subprocess.run(
        [sys.executable, *arguments],
        stdout=descriptor,
        stderr=subprocess.PIPE,
        text=True,
        cwd=work.path,
        env=work._environment,
        timeout=240,
    )
    return done.returncode, done.stderr


def test_output_that_nobody_reads_costs_no_verdict_and_no_file(work: Workplace) -> None:
    """A reader that went away, as head does, and a device without room, in each mode."""
    work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="1")
    reader, gone = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    codes = {"explain": 0, "query": 1, "run": 1, "bisect": 1, "minify": 0}
    for mode, code in codes.items():
        assert run_into(work, gone, "repro.py", mode) == (code, ""), mode
    assert (work.path / "repro_1.py").exists()
    assert run_into(work, gone, "repro.py", "--help") == (0, "")
    no_room = "what this says cannot be written: No space left on device\n"
    for mode in ("explain", "run"):
        assert run_into(work, full, "repro.py", mode) == (codes[mode], no_room), mode
    os.close(gone)
    os.close(full)


# Whether a run fails is drawn by its number, so that a search by one worker always meets the same.
FLAKY = """\
import os
import random
import numpy as np
import suture

def sometimes(graph, inputs):
    forward = graph.forward()
    bad = any(node["op"] == "maximum" for node in graph.nodes)

    def run(*values):
        if bad:
            with open(os.environ["COUNT"], "a") as file:
                file.write(".")
            if random.Random(os.path.getsize(os.environ["COUNT"])).random() < 0.5:
                raise RuntimeError("now and then")
        return forward(*values)

    return run

@suture.compile(backend=sometimes)
def f(x):
    return np.tanh(np.maximum(np.sin(x), 0.5)) * 2.0

for _ in range(60):
    f(np.linspace(-1, 1, 8))
"""


def test_a_failure_that_comes_and_goes_is_waited_for(work: Workplace) -> None:
    settings = {"COUNT": str(work.path / "count")}
    failed = work.run(work.write("prog.py", FLAKY), SUTURE_REPRO_AFTER="capture", **settings)
    assert "now and then" in failed.stderr
    reduced = work.run("minifier_launcher.py", "--workers", "1", **settings)
    assert reduced.returncode == 0, reduced
    assert "comes and goes: it failed in " in reduced.stdout
    assert any("np.maximum(" in line for line in body_of(work.path / "repro.py"))
    for _ in range(3):
        again = work.run("repro.py", "query", **settings)
        assert again.returncode == 1
        assert re.search(r"REPRODUCED: .*now and then \(run \d+ of at most \d+\)", again.stdout)


# Fails in every run until so many were made (they are counted in a file), then passes in one out of two.
LATE = """\
import os
import numpy as np
import suture

def late(graph, example_inputs):
    bad = any(node["op"] == "maximum" for node in graph.nodes)
    if bad:
        with open(os.environ["COUNT"], "a") as file:
            file.write(".")
        runs = os.path.getsize(os.environ["COUNT"])
        if runs <= int(os.environ["STEADY"]) or runs % 2:
            raise RuntimeError("not each time")
    return graph.forward()

@suture.compile(backend=late)
def f(x):
    return np.tanh(np.maximum(np.sin(x), 0.5)) * 2.0

f(np.linspace(-1, 1, 8))
"""


@pytest.mark.parametrize("steady", [2, 3, 4])
def test_a_failure_that_seems_steady_at_first_and_is_not(work: Workplace, steady: int) -> None:
    """The program is run 1 and the first of the search run 2: what passes later is seen by candidates, or by the result's own runs."""
    settings = {"COUNT": str(work.path / "count"), "STEADY": str(steady)}
    assert work.run(work.write("prog.py", LATE), SUTURE_REPRO_AFTER="capture", **settings).returncode == 1
    reduced = work.run("minifier_launcher.py", **settings)
    assert reduced.returncode == 0 and "It fails the same way in a new process." in reduced.stdout, reduced
    repro = work.path / "repro.py"
    assert any("np.maximum(" in line for line in body_of(repro)) and repro_file.load(repro).origin["rate"] < 1
    for _ in range(2):
        assert work.run("repro.py", "query", **settings).returncode == 1


# Fails in every run until one is made in a clean process, as a certificate is; from then on in every second.
CLEAN = """\
import os
import numpy as np
import suture

def clean(graph, example_inputs):
    count = os.environ["COUNT"]
    if any(node["op"] == "maximum" for node in graph.nodes):
        if "SUTURE_MAX_UNROLL" not in os.environ or os.path.exists(count):
            with open(count, "a") as file:
                file.write(".")
        if not os.path.exists(count) or os.path.getsize(count) % 2 == 0:
            raise RuntimeError("not each time")
    return graph.forward()

@suture.compile(backend=clean)
def f(x):
    return np.tanh(np.maximum(np.sin(x), 0.5)) * 2.0

f(np.linspace(-1, 1, 8))
"""


def test_a_certificate_that_says_no_finds_out_whether_the_failure_comes_and_goes(work: Workplace) -> None:
    settings = {"COUNT": str(work.path / "count"), "SUTURE_MAX_UNROLL": "64"}  # certificates get no options
    assert work.run(work.write("prog.py", CLEAN), SUTURE_REPRO_AFTER="capture", **settings).returncode == 1
    reduced = work.run("minifier_launcher.py", **settings)
    assert reduced.returncode == 0 and "It fails the same way in a new process." in reduced.stdout, reduced
    assert repro_file.load(work.path / "repro.py").origin["rate"] == 0.5
    assert [file.name for file in work.path.glob("repro*.py")].count("repro.py") == 1
    assert work.run("repro.py", "query", **settings).returncode == 1


REUSED = """\
import sys
import numpy as np
import suture

@suture.compile(backend=sys.argv[1])
def f(x):
    return np.maximum(np.sin(x), 0) + 1, x[1:]

kept = [f(np.arange(3.0) + i) for i in range(3)]
print(kept[0][0] is kept[1][0])
"""


def test_memory_that_is_given_again_is_a_failure_at_level_4(work: Workplace) -> None:
    """Views of inputs are the caller's own."""
    program, level_4 = work.write("prog.py", REUSED), {"SUTURE_REPRO_AFTER": "capture", "SUTURE_REPRO_LEVEL": "4"}
    assert work.run(program, "faulty:op=maximum,kind=reused_output").stdout == "True\n"
    assert work.run(program, "native", **level_4).stdout == "False\n"
    failed = work.run(program, "faulty:op=maximum,kind=reused_output", **level_4)
    assert failed.returncode == 1 and "output 0 lies in the memory of what call 1 returned" in failed.stderr, failed
    reduced = work.run("minifier_launcher.py")
    assert reduced.returncode == 0, reduced
    assert work.run("repro.py", "query").stdout.startswith("REPRODUCED: wrong_alias")


def test_a_log_that_cannot_be_written_costs_the_log_only(work: Workplace) -> None:
    assert work.run(work.write("prog.py", SEED), SUTURE_REPRO_AFTER="capture").returncode == 0
    reduced = work.run("minifier_launcher.py", "--log", str(work.path / "no" / "such" / "log"))
    assert reduced.returncode == 0 and "log could not be written: No such file or directory" in reduced.stdout
    assert reduced.stdout.endswith("Wrote minimal repro out to repro.py\n")


# The built-in compiler, failing on purpose at the stage that the argument tells.
NATIVE = FAULTY.replace("backend=sys.argv[1]", 'options={"inject_fault": sys.argv[1]}')


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("pass_error", "native raised InternalError: eliminate_dead_nodes: "),
        ("codegen_error", "native raised InternalError: codegen: "),
        ("bad_code", "native raised InternalError: toolchain: "),
    ],
)
def test_failures_of_the_compiler_itself_are_reduced(work: Workplace, kind: str, words: str) -> None:
    fault = f"kind={kind},op=maximum"
    kept = work.run(work.write("prog.py", NATIVE), fault)
    assert kept.returncode == 0 and "(4, 6)" in kept.stdout  # it costs the user nothing
    failed = work.run("prog.py", fault, SUTURE_REPRO_AFTER="aot")
    assert f"suture.BackendCompilerFailed: {words}" in failed.stderr
    assert failed.stderr.splitlines()[-1] == f"  python {work.path / 'minifier_launcher.py'}"
    reduced = work.run("minifier_launcher.py")
    assert reduced.returncode == 0, reduced
    assert len(body_of(work.path / "repro.py")) == 2
    assert work.run("repro.py", "query").returncode == 1


@pytest.mark.parametrize(("kind", "level"), [("bad_code", "lowered"), ("pass_error", "captured")])
def test_after_lowering_the_lowered_graph_is_reduced_if_it_fails_alone(work: Workplace, kind: str, level: str) -> None:
    # mean is a sum and a division in the lowered graph; a fault of a pass needs the captured one.
    failed = work.run(work.write("prog.py", NATIVE), f"kind={kind},op=sum", SUTURE_REPRO_AFTER="lowering")
    assert failed.returncode == 1
    assert repro_file.load(work.path / "minifier_launcher.py").case.graph_text.splitlines()[0].endswith("captured")
    reduced = work.run("minifier_launcher.py", "--log", "steps")
    assert reduced.returncode == 0, reduced
    assert ("The lowered graph fails alone" in reduced.stdout) == (level == "lowered")
    assert (work.path / "steps").read_text().startswith("lowering: the lowered graph of ")
    case = repro_file.load(work.path / "repro.py").case
    assert case.graph_text.splitlines()[0].endswith(level)
    assert case.options.get("pass_limit") == (0 if level == "lowered" else None)
    assert work.run("repro.py", "query").returncode == 1


@pytest.mark.parametrize(("kind", "doing"), [("toolchain_segfault", "compiling"), ("segfault", "running")])
def test_crashes_of_the_compiler_and_of_kernels_are_reduced(work: Workplace, kind: str, doing: str) -> None:
    died = work.run(work.write("prog.py", NATIVE), f"kind={kind},op=maximum")
    assert died.returncode == -signal.SIGSEGV
    done = work.suture("minify", "--last")
    assert done.returncode == 0, done
    assert f"while {doing} graph f of f" in done.stderr
    assert len(body_of(work.path / "repro.py")) == 2
    assert work.run("repro.py", "query").stdout.startswith("REPRODUCED: segfault while")


def test_wrong_kernels_are_found_at_level_4(work: Workplace) -> None:
    environment = {"SUTURE_REPRO_AFTER": "lowering", "SUTURE_REPRO_LEVEL": "4"}
    failed = work.run(work.write("prog.py", NATIVE), "kind=wrong_operator,op=sqrt", **environment)
    assert "suture.BackendCompilerFailed: native gave a wrong result: output 0[" in failed.stderr
    assert work.run("minifier_launcher.py").returncode == 0
    assert any("np.sqrt(" in line for line in body_of(work.path / "repro.py"))
    right = work.run("prog.py", "", **environment)
    assert right.returncode == 0 and "(4, 6)" in right.stdout


def test_a_launcher_can_be_bisected(work: Workplace) -> None:
    failed = work.run(work.write("prog.py", NATIVE), "kind=codegen_error,op=maximum", SUTURE_REPRO_AFTER="lowering")
    assert failed.returncode == 1
    by_command = work.suture("bisect", "--json", "minifier_launcher.py")
    assert by_command.returncode == 1, by_command
    found = json.loads(by_command.stdout)
    assert found["reproduced"] and found["signature"].startswith("compile_error")
    assert found["passing"] is not None
    by_file = work.run("minifier_launcher.py", "bisect")
    assert by_file.returncode == 1 and "CULPRIT" in by_file.stdout
