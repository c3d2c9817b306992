"""The minifier on faults of every kind: how small the result is, how many oracle calls it took, and that nothing is left behind."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from suture import _core
from suture._minify.case import Case, inputs_of
from suture._minify.minimise import minimise
from suture._minify.oracle import Limits, MinifyError, NotReproduced, Oracle, Servers
from suture._minify.signature import Signature, Verdict

OPS = ("sin", "cos", "tanh", "abs")


def chain(length, marked=None, shape=(8, 5), fault="", **settings):
    """A chain of unary ops; `marked`: position -> op."""
    marked = marked or {}
    size = f"f64[{', '.join(map(str, shape))}]"
    lines = ['graph "chain" captured', f'  x = placeholder() : {size} ; "x"']
    last = "x"
    for i in range(length):
        op = marked.get(i, OPS[i % len(OPS)])
        operands = f"{last}, x" if op in ("maximum", "minimum", "add", "mul") else last
        lines.append(f'  {op}_{i} = {op}({operands}) : {size} ; "np.{op}"')
        last = f"{op}_{i}"
    lines += ["  inputs x", f"  return {last}", ""]
    x = np.linspace(-1, 2, int(np.prod(shape))).reshape(shape)
    backend = f"faulty:{fault}" if fault else "native"
    return Case(_core.Graph.from_text("\n".join(lines)).to_text(), inputs_of([x]), backend=backend, **settings)


@pytest.fixture(scope="module")
def servers():
    with Servers() as servers:
        yield servers


def without_evidence(length):
    """A failure that says nothing of its place, at ops that are as common as the others."""
    return chain(length, {i: "maximum" for i in range(3, length, 5)}, fault="op=maximum,kind=abort")


def ops_of(case):
    return [node["op"] for node in case.graph.nodes if node["kind"] != "Input"]


# --- what comes out -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shows_as"),
    [
        ("compile_error", "compile_error"),
        ("run_error", "run_error"),
        ("wrong_value", "wrong_value"),
        ("wrong_dtype", "wrong_dtype"),
        ("segfault", "segfault"),
        ("abort", "abort"),
        ("killed", "killed"),
        ("oom", "oom"),
        ("warning", "warning"),
    ],
)
def test_a_fault_of_one_op_ends_at_that_op(kind, shows_as):
    result = minimise(chain(60, {41: "maximum"}, fault=f"op=maximum,kind={kind}"))
    assert result.signature.kind == shows_as
    assert ops_of(result.case) == ["maximum"]
    assert result.complete
    assert result.calls <= 22
    assert all(extent == 1 for item in result.case.inputs for extent in item.shape)


def test_a_hang_ends_at_its_op():
    case = chain(12, {7: "maximum"}, fault="op=maximum,kind=hang")
    result = minimise(case, limits=Limits(seconds=1.5))
    assert (result.signature.kind, ops_of(result.case)) == ("hang", ["maximum"])
    assert result.calls <= 14


def test_two_distant_ops_lose_what_is_between_them():
    case = chain(300, {4: "maximum", 290: "floor"}, fault="op=maximum,with=floor,kind=compile_error")
    result = minimise(case)
    assert ops_of(result.case) == ["maximum", "floor"]
    assert result.calls <= 40


def test_ops_that_must_be_connected_stay_connected():
    case = chain(300, {4: "maximum", 290: "floor"}, fault="op=maximum,with=floor,path=yes,kind=compile_error")
    result = minimise(case)
    assert ops_of(result.case) == ["maximum", "floor"]
    assert result.calls <= 40


@pytest.mark.parametrize(("shape", "least"), [((200, 50), 500), ((40, 40), 700), ((3, 900), 100), ((64, 64), 4095)])
def test_two_sizes_whose_product_matters_end_where_neither_can_be_smaller(shape, least):
    case = chain(3, {}, shape=shape, fault=f"op=sin,kind=run_error,when=size>{least}")
    result = minimise(case, budget=200)
    assert result.complete
    (item,) = result.case.inputs
    rows, columns = item.shape
    assert rows * columns > least
    if rows != columns:  # equal sizes are one
        assert (rows - 1) * columns <= least and rows * (columns - 1) <= least
    assert len(result.steps) < 200


def test_sizes_end_at_the_smallest_that_fails():
    case = chain(20, {9: "maximum"}, shape=(40, 30), fault="op=maximum,kind=run_error,when=dim>=11")
    result = minimise(case)
    assert ops_of(result.case) == ["maximum"]
    assert max(extent for item in result.case.inputs for extent in item.shape) == 11


def test_unusual_values_are_kept_when_they_matter():
    case = chain(10, {0: "maximum"}, fault="op=maximum,kind=run_error,when=operand==nan")
    x = case.inputs[0].data.copy()
    x[6, 3] = np.nan
    result = minimise(case.with_(inputs=inputs_of([x])))
    assert ops_of(result.case) == ["maximum"]
    arrays = [item for item in result.case.inputs if item.kind == "array"]
    assert [item.data.size for item in arrays] == [1]
    assert np.isnan(arrays[0].data).all()


def test_a_failure_of_the_second_call_keeps_two_calls():
    case = chain(20, {9: "maximum"}, fault="op=maximum,kind=second_call_error", calls=6)
    result = minimise(case)
    assert (ops_of(result.case), result.case.calls) == (["maximum"], 2)


def test_failures_that_come_and_go():
    case = chain(30, {9: "maximum"}, fault="op=maximum,kind=nondeterministic", calls=4)
    result = minimise(case)
    assert ops_of(result.case) == ["maximum"]
    assert result.signature.kind == "nondeterministic"


def test_options_and_layouts_become_plain():
    case = chain(8, {3: "maximum"}, fault="op=maximum,kind=run_error", options={"max_unroll": 3, "fusion": False})
    graph, _ = case.graph.subgraph(types={"x": "f64[8, 5] strides [1, 16]"})
    x = np.zeros((5, 16))[:, :8].T
    case = case.with_(graph_text=graph.to_text(), inputs=inputs_of([x])).checked()
    result = minimise(case)
    assert result.case.options == {}
    assert all(item.strides in ((1, 1), ()) for item in result.case.inputs)


def test_number_of_workers_makes_no_difference():
    case = chain(120, {30: "maximum", 80: "floor"}, fault="op=maximum,with=floor,kind=run_error,when=dim>=3")
    alone, both = (minimise(case, workers=workers) for workers in (1, 2))
    assert both.case == alone.case
    assert both.case.key == alone.case.key
    assert (both.calls, both.log()) == (alone.calls, alone.log())


def test_a_failure_does_not_drift_to_another():
    # Parts without the floor fail, too, with another exception.
    case = chain(40, {10: "maximum", 30: "floor"}, fault="op=maximum,with=floor,kind=run_error,raises=ValueError")
    with Oracle(case) as oracle:
        signature = oracle.reproduce()
        other = case.with_(backend="faulty:op=maximum,kind=run_error,raises=KeyError")
        assert oracle.ask([case, other, case.with_(backend="eager")]) == [Verdict.SAME, Verdict.OTHER, Verdict.PASS]
    assert signature.exception == "ValueError"


# --- stopping, going on ---------------------------------------------------------------------------------------------------


def test_a_budget_ends_with_the_smallest_so_far():
    result = minimise(without_evidence(200), budget=4)
    assert not result.complete
    assert "budget of 4" in result.stopped
    assert len(ops_of(result.case)) <= 25
    assert result.calls == 4


def test_ctrl_c_keeps_what_was_found():
    seen = []

    def interrupt(step):
        seen.append(step)
        if len(seen) == 3:
            raise KeyboardInterrupt

    result = minimise(without_evidence(200), progress=interrupt)
    assert (result.complete, result.stopped) == (False, "interrupted")
    assert len(ops_of(result.case)) <= 50
    assert "SUCCESS: Went from 200 to 5 nodes" in map(str, seen)


def test_a_checkpoint_saves_the_calls(tmp_path):
    case = without_evidence(200)
    file = tmp_path / "checkpoint"
    part = minimise(case, checkpoint=file, budget=5)
    assert part.calls == 5
    # What the file knows costs nothing: the same budget goes further.
    assert minimise(case, checkpoint=file, budget=5).case.op_count < part.case.op_count
    again = minimise(case, checkpoint=file)
    assert again.case == minimise(case).case
    with file.open("a") as text:
        text.write('{"case": "torn')  # as by a process that was killed
    last = minimise(case, checkpoint=file)
    assert (last.case, last.calls) == (again.case, 0)


def test_ctrl_c_during_the_last_check_keeps_the_result(monkeypatch):
    def interrupted(search):
        raise KeyboardInterrupt

    case = chain(20, {10: "maximum"}, fault="op=maximum,kind=run_error")
    whole = minimise(case)
    monkeypatch.setattr("suture._minify.minimise._Search.check", interrupted)
    part = minimise(case)
    assert part.case == whole.case and not part.complete and part.stopped == "interrupted"


def test_a_built_in_name_that_was_given_to_another_backend_is_that_backend(monkeypatch):
    from suture import _backends
    from suture._minify.oracle import needs_fork

    assert not needs_fork("eager") and not needs_fork("native") and not needs_fork("faulty:op=add,kind=hang")
    monkeypatch.setitem(_backends._registered, "eager", lambda graph, inputs: graph.forward())
    assert needs_fork("eager")
    assert not _backends.is_installed("eager", _backends._registered["eager"])


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    file = tmp_path / "checkpoint"
    minimise(chain(5, {2: "maximum"}, fault="op=maximum,kind=run_error"), checkpoint=file)
    with pytest.raises(MinifyError, match="another search"):
        minimise(chain(6, {2: "maximum"}, fault="op=maximum,kind=run_error"), checkpoint=file)


@pytest.mark.parametrize(
    "content", [b"one\ntwo\nthree\n", b"[]\n", b"no line end", b"\xff\xfe\n\x00\n", b'{"suture_minify": 1}\n']
)
def test_a_file_that_is_no_checkpoint_stays_as_it_is(tmp_path, content):
    from suture._minify.checkpoint import Checkpoint

    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    with pytest.raises(MinifyError, match="is no checkpoint"):
        Checkpoint(file, "search")
    assert file.read_bytes() == content


@pytest.mark.parametrize("row", [b'{"case": "a"}', b'{"case": "a", "verdict": "?"}', b"[]", b'"\xff"', b"torn"])
def test_a_damaged_row_of_a_checkpoint_is_told(tmp_path, row):
    from suture._minify.checkpoint import Checkpoint

    file = tmp_path / "checkpoint"
    Checkpoint(file, "search").add("a", Verdict.SAME)
    whole = file.read_bytes()
    file.write_bytes(whole + row)  # without its end: torn by the end of a process
    assert Checkpoint(file, "search").verdicts == {"a": Verdict.SAME}
    assert file.read_bytes() == whole
    file.write_bytes(whole + row + b"\n" + whole.splitlines(keepends=True)[1])
    with pytest.raises(MinifyError, match="line 3 of the checkpoint"):
        Checkpoint(file, "search")


def test_a_checkpoint_that_cannot_be_written_is_said_so(tmp_path):
    with pytest.raises(MinifyError, match="cannot be used: .*; choose another file"):
        minimise(chain(5, {2: "maximum"}, fault="op=maximum,kind=run_error"), checkpoint=tmp_path / "no" / "such")
    with pytest.raises(MinifyError, match="No space left"):
        minimise(chain(5, {2: "maximum"}, fault="op=maximum,kind=run_error"), checkpoint="/dev/full")


def test_a_checkpoint_that_fills_the_disk_costs_the_checkpoint_and_not_the_search(tmp_path, monkeypatch):
    from suture._minify.checkpoint import Checkpoint

    def full(checkpoint, row):
        if "case" in row:
            raise checkpoint._trouble(OSError(errno.ENOSPC, "full"))

    monkeypatch.setattr(Checkpoint, "_write", full)
    result = minimise(without_evidence(20), checkpoint=tmp_path / "checkpoint")
    assert ops_of(result.case) == ["maximum"] and result.complete
    assert "No space left on device" in str(result) and "went on without it" in str(result)


# --- what cannot be reduced -----------------------------------------------------------------------------------------------


def test_a_case_that_does_not_fail_is_refused_with_advice():
    with pytest.raises(NotReproduced, match="does not fail.*calls=2"):
        minimise(chain(5))


def test_a_case_that_fails_otherwise_than_asked_is_refused():
    with pytest.raises(NotReproduced, match="does not fail as it should"):
        minimise(chain(5, {2: "maximum"}, fault="op=maximum,kind=run_error"), signature=Signature("wrong_value"))


def test_a_failure_that_this_process_does_not_give_is_refused_with_advice():
    with pytest.raises(NotReproduced, match=r"only beside other threads.*suture minify PROGRAM.py --goal error"):
        minimise(chain(5), signature=Signature("run_error", "RuntimeError", "two threads"))


def test_large_inputs_are_cut_or_refused_with_advice():
    case = chain(5, {2: "maximum"}, shape=(300, 400), fault="op=maximum,kind=run_error")
    assert ops_of(minimise(case, max_bytes=600_000).case) == ["maximum"]
    case = case.with_(backend="faulty:op=maximum,kind=run_error,when=dim>=350")
    with pytest.raises(MinifyError, match=r"more than max_bytes .* find smaller inputs that fail, or raise max_bytes"):
        minimise(case, max_bytes=600_000)


# --- the oracle -----------------------------------------------------------------------------------------------------------


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = children_of(os.getpid())
    for kind in ("segfault", "abort", "killed", "hang"):
        case = chain(3, {1: "maximum"}, fault=f"op=maximum,kind={kind}")
        with Oracle(case, limits=Limits(seconds=1)) as oracle:
            oracle.reproduce()
    assert list(tmp_path.iterdir()) == []
    assert children_of(os.getpid()) == before


def test_ctrl_c_leaves_nothing_behind(tmp_path, monkeypatch):
    before = children_of(os.getpid())  # of other tests in this process
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    case = chain(3, {1: "maximum"}, fault="op=maximum,kind=hang")
    timer = threading.Timer(2.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        minimise(case)  # the first run hangs for 30 s
    assert time.monotonic() - begin < 15
    assert list(tmp_path.iterdir()) == []
    assert children_of(os.getpid()) == before


def test_no_room_for_temporary_files_is_said_so(monkeypatch):
    before = children_of(os.getpid())  # of other tests in this process

    def full(prefix):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/somewhere/suture-minify-1")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    with Oracle(chain(2), fork=True) as oracle:
        with pytest.raises(MinifyError, match="No space left on device: /somewhere/.*; set TMPDIR to a directory"):
            oracle.reproduce()
    assert children_of(os.getpid()) == before


def test_what_a_child_started_dies_with_it():
    def starts_a_process(graph, inputs):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", "started by a backend"])
        raise ValueError("after starting a process")

    from suture import register_backend

    register_backend("starts_a_process", starts_a_process)
    with Oracle(chain(2).with_(backend="starts_a_process")) as oracle:
        assert oracle.reproduce().exception == "ValueError"
    time.sleep(0.2)
    running = [Path(f"/proc/{p}/cmdline") for p in os.listdir("/proc") if p.isdigit()]
    texts = []
    for path in running:
        try:
            texts.append(path.read_bytes())
        except OSError:
            pass
    assert not [text for text in texts if b"started by a backend" in text]


def test_threads_of_this_process_do_not_matter():
    stop = threading.Event()
    threads = [threading.Thread(target=lambda: stop.wait(60)) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        assert ops_of(minimise(chain(9, {4: "maximum"}, fault="op=maximum,kind=segfault")).case) == ["maximum"]
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_server_that_dies_costs_one_verdict():
    case = chain(3, {1: "maximum"}, fault="op=maximum,kind=run_error")
    with Oracle(case) as oracle:
        oracle.reproduce()
        os.kill(oracle._idle[0].pid, 9)
        assert oracle.ask([case]) == [Verdict.INFRA]
        assert oracle.ask([case]) == [Verdict.SAME]


def test_candidates_share_a_child_until_one_does_not_end_in_order(servers):
    marked = {i: "maximum" for i in range(3, 60, 5)}
    raising = minimise(chain(60, marked, fault="op=maximum,kind=run_error,raises=KeyError"), servers=servers)
    assert raising.runs > 8
    assert raising.children == 2  # one of the last check alone
    dying = minimise(chain(60, marked, fault="op=maximum,kind=abort,when=nth==3"), servers=servers)
    accepted = sum(step.accepted for step in dying.steps)
    assert dying.children <= accepted + 8 < dying.runs  # candidates that pass share one; the result has three runs


def test_a_failure_that_stays_in_its_process_is_found_with_a_process_per_candidate():
    """After a maximum has failed, everything fails in that process."""
    failed = []

    def sticky(graph, inputs):
        if failed or any(node["op"] == "maximum" for node in graph.nodes):
            failed.append(graph)
            raise RuntimeError("no code")
        return graph.forward()

    from suture import register_backend

    register_backend("sticky", sticky)
    result = minimise(without_evidence(40).with_(backend="sticky"))
    assert ops_of(result.case) == ["maximum"] and result.complete
    assert "begins again with a process per candidate" in result.log()
    assert not failed  # in this process


def test_a_failure_that_shows_once_per_process_shares_no_child():
    failed = []

    def shy(graph, inputs):
        if not failed and any(node["op"] == "maximum" for node in graph.nodes):
            failed.append(graph)
            raise RuntimeError("no code")
        return graph.forward()

    from suture import register_backend

    register_backend("shy", shy)
    result = minimise(without_evidence(20).with_(backend="shy"))
    assert ops_of(result.case) == ["maximum"] and result.complete and result.rate == 1
    assert "begins again with a process per candidate" in result.log() and not failed


def test_processor_time_is_limited_per_run_and_not_per_child():
    def busy(graph, inputs):
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        raise ValueError("tired")

    from suture import register_backend

    register_backend("busy", busy)
    case = chain(2).with_(backend="busy")
    with Oracle(case, limits=Limits(cpu_seconds=2)) as oracle:
        assert oracle.ask([case, case.with_(calls=2), case.with_(calls=3)]) == [Verdict.SAME] * 3
        assert oracle.children == 1


def test_memory_is_limited():
    def hungry(graph, inputs):
        np.ones(3 << 30, np.uint8)
        return graph.forward()

    from suture import register_backend

    register_backend("hungry", hungry)
    with Oracle(chain(2).with_(backend="hungry"), limits=Limits(memory=1 << 30)) as oracle:
        assert oracle.reproduce().kind == "oom"


def test_passing_cases_share_a_child_and_a_failure_is_judged_alone():
    case = chain(3, {1: "maximum"}, fault="op=maximum,kind=segfault")
    good = case.with_(backend="eager")
    with Oracle(case) as oracle:
        kinds = [outcome.kind for outcome in oracle.outcomes([good, good, case, good])]
    assert kinds == ["pass", "pass", "segfault", "pass"]


def test_loading_the_compiler_ends_only_children_that_nobody_uses() -> None:
    """A server has a child that candidates share when the first case comes that is compiled."""
    failing = chain(5, {2: "maximum"}, fault="op=maximum,kind=run_error")
    with Servers() as servers, Oracle(failing, servers=servers) as oracle:
        oracle.reproduce()
        assert oracle.ask([failing.with_(backend="native"), failing]) == [Verdict.PASS, Verdict.SAME]
        assert oracle.judge([failing.with_(backend="native")], alone=True)[0].verdict is Verdict.PASS
        assert oracle.ask([failing]) == [Verdict.SAME]
