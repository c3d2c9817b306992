"""SUTURE_TRACE: one JSONL file per process, never a failure of the program."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import suture
from suture import _core, _toolbox
from tests.python.conftest import ROOT


def read(directory: Path) -> list[list[dict]]:
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in sorted(directory.glob("*.jsonl"))]


def test_one_file_with_a_header_and_every_event(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces" / "deep"
    done = run_python(str(seed_program), SUTURE_TRACE=str(directory))
    assert done.returncode == 0 and done.stderr == ""
    (lines,) = read(directory)
    assert lines[0]["schema"] == _core.schema_version and lines[0]["suture"] == _core.version and lines[0]["pid"] > 0
    names = [line["event"] for line in lines[1:]]
    assert names.count("graph_break") == 2, "one per compile of f"
    assert {"frame_start", "graph_captured", "guards_built", "recompile", "kernel_compiled", "frame_done"} <= set(names)
    assert set(names) <= {name for name, _ in _core.event_table()}


def test_files_and_directory_are_private(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces"
    run_python(str(seed_program), SUTURE_TRACE=str(directory))
    (file,) = directory.glob("*.jsonl")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_forked_child_has_a_file_of_its_own(run_python, write_program, tmp_path):
    program = write_program(
        "import os, numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return x + 1\n"
        "f(np.ones(3))\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    f(np.ones(3, dtype='f4'))\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    directory = tmp_path / "traces"
    assert run_python(str(program), SUTURE_TRACE=str(directory)).returncode == 0
    files = read(directory)
    assert len({lines[0]["pid"] for lines in files}) == 2
    assert sorted(sum(line.get("event") == "frame_done" for line in lines) for lines in files) == [1, 1]


def test_an_unusable_directory_is_one_warning(run_python, seed_program, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run_python(str(seed_program), SUTURE_TRACE=str(blocked / "traces"))
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert done.stderr.count("RuntimeWarning") == 1 and "SUTURE_TRACE" in done.stderr


def test_nothing_is_written_when_nothing_is_compiled(run_python, tmp_path):
    directory = tmp_path / "traces"
    run_python("-c", "import suture", SUTURE_TRACE=str(directory))
    assert not directory.exists()


def test_logs_prints_a_trace_and_survives_a_cut_off_line(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces"
    run_python(str(seed_program), SUTURE_TRACE=str(directory))
    (file,) = directory.glob("*.jsonl")
    with open(file, "a") as stream:
        stream.write('{"schema":1,"event":"graph_br')
    done = run_python("-m", "suture", "logs", str(directory))
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.count("Graph break in user code at") == 1
    assert done.stderr.count("Recompiling function") == 2
    as_json = run_python("-m", "suture", "logs", "--json", "--logs", "recompiles", str(file))
    records = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert [record["artifact"] for record in records] == ["recompiles"] * 4  # each: why, and what it took


def test_logs_of_nothing_is_a_usage_error(run_python, tmp_path):
    os.makedirs(tmp_path / "empty")
    assert run_python("-m", "suture", "logs", str(tmp_path / "empty")).returncode == 2
    assert run_python("-m", "suture", "logs", str(tmp_path / "missing")).returncode == 2
    assert run_python("-m", "suture", "logs", "--logs", "nonsense", str(tmp_path)).returncode == 2


ENDLESS = """
import numpy as np, suture
print("ready", flush=True)
while True:
    @suture.compile
    def f(x):
        y = np.sin(x) + 1
        if y.sum() > 0:
            y = y * 2
        return y
    f(np.ones(3))
"""


def test_killed_at_any_moment_every_complete_line_parses(write_program, tmp_path):
    program = write_program(ENDLESS)
    chance = random.Random(1)
    lines = 0
    for attempt in range(8):
        directory = tmp_path / f"traces{attempt}"
        child = subprocess.Popen(
            [sys.executable, str(program)],
            stdout=subprocess.PIPE,
            env={**os.environ, "SUTURE_TRACE": str(directory), "PYTHONPATH": str(ROOT / "python")},
        )
        assert child.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0, 0.5))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        for file in directory.glob("*.jsonl"):
            *whole, torn = file.read_bytes().split(b"\n")
            for line in whole:
                assert json.loads(line)["schema"] == _core.schema_version
            lines += len(whole)
    assert lines > 0


def test_two_processes_threads_and_forks_share_a_directory(write_program, tmp_path):
    program = write_program(
        "import os, threading, numpy as np, suture\n"
        "def work(k):\n"
        "    for i in range(5): suture.compile(eval(f'lambda x: x + {k * 10 + i}'))(np.ones(2))\n"
        "threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "pid = os.fork()\n"
        "work(7)\n"
        "if not pid: os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    directory = tmp_path / "traces"
    environment = {**os.environ, "SUTURE_TRACE": str(directory), "PYTHONPATH": str(ROOT / "python")}
    children = [subprocess.Popen([sys.executable, str(program)], env=environment) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    files = read(directory)
    assert len(files) == 4
    done = [[line for line in lines if line.get("event") == "frame_done"] for lines in files]
    assert sorted(map(len, done)) == [5, 5, 20, 20], "nothing is lost, nothing is written twice"
    assert max(len({line["fields"]["thread"] for line in lines}) for lines in done) == 4


def test_traces_are_switched_in_a_running_process(tmp_path, restore_config):
    def compiled():
        suture.compile(lambda x: x + 1)(np.ones(2))

    with suture.config.patch(trace=str(tmp_path / "a")):
        compiled()
        assert _core.trace_path().startswith(str(tmp_path / "a"))
    compiled()
    suture.config.trace = str(tmp_path / "b")
    compiled()
    compiled()
    suture.config.trace = ""
    compiled()
    counts = [
        sum(line.get("event") == "frame_done" for lines in read(tmp_path / name) for line in lines) for name in "ab"
    ]
    assert counts == [1, 2]


def test_a_full_disk_is_one_warning(run_python, write_program, tmp_path):
    program = write_program(
        "import resource, signal, numpy as np, suture\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "for k in range(3): print(suture.compile(lambda x: x + k)(np.ones(1)), flush=True)\n"
    )
    done = run_python(str(program), SUTURE_TRACE=str(tmp_path / "traces"), SUTURE_CACHE_DIR="off")
    assert done.returncode == 0 and done.stdout == "[1.]\n[2.]\n[3.]\n"
    assert done.stderr.count("RuntimeWarning") == 1 and "File too large" in done.stderr
    (file,) = (tmp_path / "traces").glob("*.jsonl")
    text = file.read_text()
    events = [json.loads(line) for line in text.splitlines()][1:]
    assert text.endswith("}\n") and len(events) > 1, "what does not fit any more is not begun"
    assert f"the trace ends here: the file holds the first {len(events)} events of this process" in done.stderr


def test_a_disk_that_is_full_from_the_start_is_said_to_give_no_trace(run_python, write_program, tmp_path):
    program = write_program(
        "import resource, signal, numpy as np, suture\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "f = suture.compile(lambda x: x + 1); f(np.ones(1)); print(f.status()['graph_count'])\n"
    )
    done = run_python(str(program), SUTURE_TRACE=str(tmp_path / "traces"), SUTURE_CACHE_DIR="off")
    assert done.returncode == 0 and done.stdout == "1\n"
    assert "File too large; events are not traced" in done.stderr and done.stderr.count("RuntimeWarning") == 1


EVERYTHING = (
    "graph_breaks,recompiles_verbose,guards,graph_code,graph_sizes,trace_call,bytecode,schedule,memory_plan,cache"
)


def test_a_trace_renders_the_same_text_as_the_live_log(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces"
    live = run_python(str(seed_program), SUTURE_TRACE=str(directory), SUTURE_LOGS=EVERYTHING)
    later = run_python("-m", "suture", "logs", str(directory), EVERYTHING)
    assert later.returncode == 0 and later.stderr == live.stderr
    assert later.stderr.count("Graph break in user code") == 1 and "^^^" in later.stderr
    filtered = run_python("-m", "suture", "logs", str(directory), "guards,@id=0/1")
    assert {line.split("]")[0] for line in filtered.stderr.splitlines() if line.startswith("[")} == {"[0/1_1"}


def test_diff_names_what_changed(run_python, seed_program, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    run_python(str(seed_program), SUTURE_TRACE=str(before))
    text = seed_program.read_text()
    seed_program.write_text(
        text.replace("    if y.sum() > 0:\n        y = y * 2\n", "    y = y * 3\n    print(y.shape)\n")
    )
    run_python(str(seed_program), SUTURE_TRACE=str(after))
    same = run_python("-m", "suture", "logs", "--diff", str(before), str(before))
    assert same.stderr == "Nothing changed.\n" and same.returncode == 0
    done = run_python("-m", "suture", "logs", "--json", "--diff", str(before), str(after))
    changes = json.loads(done.stdout)["changes"]
    kinds = {(change["what"], change["change"]) for change in changes}
    assert {("break", "new"), ("break", "gone"), ("graph", "changed"), ("kernels", "changed")} <= kinds
    (gone,) = [change for change in changes if (change["what"], change["change"]) == ("break", "gone")]
    assert "SB101" in gone["text"] and gone["function"] == "f" and gone["before"] == 2


VARIED = """
import numpy as np, suture

def f(x):
    return np.sin(x) + 1

compiled = suture.compile(f)
for dtype in DTYPES:
    compiled(np.ones(3, dtype))
"""


def test_diff_of_graphs_is_not_moved_by_a_compile_that_was_inserted(run_python, write_program, tmp_path):
    for name, dtypes in (("before", ["f8", "f4"]), ("after", ["i4", "f8", "f4"])):
        program = write_program(VARIED.replace("DTYPES", repr(dtypes)))
        done = run_python(str(program), SUTURE_TRACE=str(tmp_path / name))
        assert done.returncode == 0, done.stderr

    def graphs(before, after):
        done = run_python("-m", "suture", "logs", "--json", "--diff", str(tmp_path / before), str(tmp_path / after))
        changes = json.loads(done.stdout)["changes"]
        return [(c["what"], c["change"], c["text"]) for c in changes if c["what"] in ("graph", "kernels")]

    assert graphs("before", "after") == [("graph", "new", "its first compile")]
    assert graphs("after", "before") == [("graph", "gone", "its first compile")]
    assert graphs("after", "after") == []


MOVED = """
import numpy as np, suture

def inner(x):
    y = np.tanh(x)
    print(end="")
    return y * 2

def f(x):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 3
    for _ in range(2):
        y = y - 1
        print(end="")
    return inner(y)

compiled = suture.compile(f, dynamic=False)
compiled(np.ones(3)); compiled(np.ones(4))
assert compiled.status()["graph_count"] >= 4
"""


@pytest.fixture
def changes(run_python, tmp_path):
    """changes((path, text), (path, text)): what `logs --diff` says of two runs, without times."""

    def compare(*runs: tuple[str, str]) -> list[tuple[str, str, str]]:
        traces = []
        for number, (path, text) in enumerate(runs):
            program = tmp_path / path
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(text)
            traces.append(str(tmp_path / f"trace{number}"))
            done = run_python(str(program), SUTURE_TRACE=traces[-1])
            assert done.returncode == 0, done.stderr
        done = run_python("-m", "suture", "logs", "--json", "--diff", *traces)
        found = json.loads(done.stdout)["changes"]
        return [(c["what"], c["change"], c["function"]) for c in found if c["what"] != "phase"]

    return compare


def test_diff_of_a_program_whose_lines_moved_is_empty(changes):
    moved = "# a line\n" * 3 + MOVED.replace("def f", "\n\ndef f").replace(
        "y = np.sin(x) + 1", "y = (np.sin(x)\n         + 1)"
    )
    assert changes(("prog.py", MOVED), ("prog.py", moved)) == []


@pytest.mark.parametrize("place", ["elsewhere/prog.py", "checkout/src/prog.py"])
def test_diff_of_a_program_in_another_directory_is_empty(changes, place):
    assert changes(("here/src/prog.py", MOVED), (place, "# moved\n" + MOVED)) == []


def test_diff_of_a_copy_names_what_was_changed_in_it(changes):
    changed = MOVED.replace("np.tanh(x)", "np.tanh(x) + x")
    assert set(changes(("a/prog.py", MOVED), ("b/prog.py", changed))) == {
        ("graph", "changed", "inner"),
        ("kernels", "changed", "inner"),
    }


def test_diff_does_not_lose_a_resume_function_whose_offset_moved(changes):
    before = MOVED.replace("np.sin(x) + 1", "np.sin(x) + 1 + 2")
    assert {(what, change) for what, change, _ in changes(("prog.py", MOVED), ("prog.py", before))} == {
        ("graph", "changed"),
        ("kernels", "changed"),
    }


def test_diff_of_files_of_one_name_pairs_those_with_most_in_common(run_python, tmp_path):
    from suture import _toolbox

    def run(*frames: tuple[str, str]) -> list[list[str]]:
        lines = []
        for number, (file, op) in enumerate(frames):
            place = {"function": "f", "file": file, "line": number + 1}
            text = f'graph "f" captured\n  {op} = {op}(x) : f64[3] ; "np.{op}" @ "{file}" "f" 2 2 8 17\n'
            for event, fields in (("frame_start", place), ("graph_captured", {"text": text, "ops": [op]})):
                lines.append(json.dumps({"event": event, "compile_id": f"{number}/0", "fields": fields}))
        return [lines]

    before = run(("/a/x/util.py", "sin"), ("/a/y/util.py", "cos"), ("/a/old.py", "exp"))
    after = run(("/b/y/util.py", "cos"), ("/b/x/util.py", "sin"), ("/b/new.py", "exp"))
    found = json.loads(_toolbox.trace_diff_json(before, after))["changes"]
    assert sorted((c["change"], c["file"]) for c in found) == [("gone", "/a/old.py"), ("new", "/b/new.py")]
    swapped = run(("/b/y/util.py", "sin"), ("/b/x/util.py", "cos"), ("/a/old.py", "exp"))
    found = json.loads(_toolbox.trace_diff_json(before, swapped))["changes"]
    assert sorted((c["change"], c["file"]) for c in found) == [("changed", "/b/x/util.py"), ("changed", "/b/y/util.py")]


def test_assembly_is_in_a_trace_when_it_is_asked_for_only(run_python, seed_program, tmp_path):
    for name, variables in (("without", {}), ("with", {"SUTURE_TRACE_ASSEMBLY": "1"})):
        run_python(str(seed_program), SUTURE_TRACE=str(tmp_path / name), **variables)
    assert run_python("-m", "suture", "logs", str(tmp_path / "without"), "asm").stderr == ""
    text = run_python("-m", "suture", "logs", str(tmp_path / "with"), "asm").stderr
    assert text.count("asm: # Assembly of graph") == 4
    assert re.search(
        rf"# fuses [\w,.]*sin[\w,.]*\n# lines {re.escape(str(seed_program))}:\d+[^\n]*\ncpp_fused_\w+:\n", text
    )


def test_chrome_trace_is_valid_and_its_slices_nest(run_python, seed_program, tmp_path):
    directory = tmp_path / "traces"
    run_python(str(seed_program), SUTURE_TRACE=str(directory))
    target = tmp_path / "out.json"
    done = run_python("-m", "suture", "logs", str(directory), "--chrome", str(target))
    assert done.returncode == 0 and done.stdout == ""
    events = json.loads(target.read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {"capture", "passes", "codegen", "compile", "guards"} <= {event["name"] for event in slices}
    assert sum(event["name"].startswith("compile f ") for event in slices) == 2
    assert sum(event["ph"] == "i" and event["name"] == "graph_break" for event in events) == 2
    open_slices: list[tuple[float, float]] = []
    for event in slices:
        start, end = event["ts"], event["ts"] + event["dur"]
        while open_slices and open_slices[-1][1] <= start + 0.002:
            open_slices.pop()
        assert not open_slices or end <= open_slices[-1][1] + 0.002, "slices of a thread nest"
        open_slices.append((start, end))
    assert json.loads(_toolbox.chrome_trace([["torn", '{"schema":1,"pid":3', "{}"]]))["traceEvents"][1:] == [], (
        "what is torn is passed over"
    )


def test_bad_arguments_are_usage_errors(run_python, tmp_path):
    for arguments in ([], ["--diff", "a", "b"], [str(tmp_path), "graph_braks"], ["x", "guards", "--logs", "guards"]):
        assert run_python("-m", "suture", "logs", *arguments).returncode == 2


def test_lines_of_a_trace_that_are_no_records_are_counted_aloud(tmp_path):
    trace = tmp_path / "a.jsonl"
    record = '{"event": "frame_done"}'
    trace.write_text('{"schema": 1}\n' + f"#{record}\n" * 3 + record + "\n" + record[:9])
    done = subprocess.run(
        [sys.executable, "-m", "suture", "logs", str(trace)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert f"3 of 6 lines of {trace} are no records" in done.stderr


def test_a_pipe_is_no_trace(tmp_path):
    os.mkfifo(tmp_path / "a.jsonl")
    for command in (["logs", str(tmp_path)], ["where", "f:3", "--in", str(tmp_path)]):
        done = subprocess.run([sys.executable, "-m", "suture", *command], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "Traceback" not in done.stderr
