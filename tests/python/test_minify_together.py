"""Native candidates that are compiled together: fewer runs of the C++ compiler, and nothing else that can be seen."""

import os
import time

import pytest

from bench.minify_native_faults import native_chain, native_dag
from suture import _core
from suture._config import config
from suture._minify import run_case, together
from suture._minify import server as server_module
from suture._minify.case import Case
from suture._minify.minimise import Result, minimise
from suture._minify.oracle import Limits, Oracle


def _dag(kind: str) -> Case:
    """A fault that needs eight ops, whichever: many candidates."""
    return native_dag(40, "maximum", f"kind={kind},op=maximum,when=nodes>=8")


def _search(case: Case, **settings: object) -> Result:
    result = minimise(case, **settings)  # type: ignore[arg-type]
    assert result.complete and result.case.op_count == 8
    return result


@pytest.mark.parametrize("kind", ["wrong_value", "segfault"])
def test_several_candidates_are_compiled_in_one_run_of_the_compiler(kind: str):
    case = _dag(kind)
    apart, joined = _search(case, joins=False), _search(case)
    assert apart.compiles > 0.7 * apart.calls  # sizes and values need no new kernels
    assert joined.compiles < 0.5 * apart.compiles
    assert joined.log() == apart.log() and joined.calls == apart.calls and joined.case.key == apart.case.key


def test_two_workers_find_the_same_with_candidates_compiled_together():
    case = _dag("wrong_value")
    one, two = _search(case), _search(case, workers=2)
    assert two.case.key == one.case.key and two.log() == one.log()
    assert two.compiles < two.calls


def test_where_compiling_fails_nothing_is_compiled_along(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(together, "compile_rows", lambda rows: os._exit(3))
    case = native_chain(40, "maximum", "kind=codegen_error,op=maximum,when=nodes>=4")
    other = native_chain(30, "maximum", case.options["inject_fault"])
    with Oracle(case, fork=True) as oracle:
        oracle.reproduce()
        children = oracle.children
        oracle.submit(other, ahead=lambda: [native_chain(5, "maximum", "")])
        ((_, judgement),) = oracle.wait()
        assert judgement.verdict == "same"
        assert oracle.children == children  # the one that there was, which a compile ahead would have ended


def _die(rows: object) -> None:
    os.abort()


def _hang(rows: object) -> None:
    time.sleep(60)


@pytest.mark.parametrize("ends", [_die, _hang], ids=["dies", "hangs"])
def test_a_child_that_ends_while_it_compiles_along_says_nothing_of_its_candidate(monkeypatch: pytest.MonkeyPatch, ends):
    monkeypatch.setattr(together, "compile_rows", ends)
    case = native_chain(20, "mul", "kind=wrong_value,op=mul,with=sin,error=0.5")
    with Oracle(case, fork=True, limits=Limits(seconds=2)) as oracle:
        signature = oracle.reproduce()
        candidates = [native_chain(count, "mul", case.options["inject_fault"]) for count in (12, 11, 10)]
        for candidate in candidates:
            oracle.submit(candidate, ahead=lambda: [native_chain(8, "mul", "")])
            ((_, judgement),) = oracle.wait()
            assert judgement.verdict == "same" and judgement.outcome.kind == signature.kind
        assert oracle.children <= 6  # one was lost: nothing is compiled along from then on


def test_a_search_that_joins_in_vain_stops_joining(monkeypatch: pytest.MonkeyPatch):
    """Where the compiler refuses what is joined, each candidate is compiled twice, but not for long."""
    monkeypatch.setattr(together, "compile_rows", lambda rows: [_core.compile_graph(case.graph) for case in LOST])
    LOST = [native_chain(3, "add", ""), native_chain(3, "sub", "")]
    case = native_chain(20, "mul", "kind=wrong_value,op=mul,with=sin,error=0.5")
    with Oracle(case, fork=True) as oracle:
        oracle.reproduce()
        before = oracle.compiles
        for count in (12, 11, 10, 9):
            oracle.submit(native_chain(count, "mul", case.options["inject_fault"]), ahead=lambda: [LOST[0]])
            oracle.wait()
        assert oracle.compiles - before == 4 + len(LOST)


def test_an_exception_while_looking_ahead_loses_neither_server_nor_candidate():
    case = native_chain(20, "mul", "kind=wrong_value,op=mul,with=sin,error=0.5")

    def interrupted() -> list[Case]:
        raise KeyboardInterrupt

    with Oracle(case) as oracle:
        oracle.reproduce()
        server = oracle._idle[0].pid
        with pytest.raises(KeyboardInterrupt):
            oracle.submit(native_chain(10, "mul", case.options["inject_fault"]), ahead=interrupted)
        assert not os.path.exists(f"/proc/{server}")


def test_kernels_leave_room_on_a_small_disk(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server_module, "_ROOM", 1 << 60)
    case = _dag("wrong_value")
    with Oracle(case, fork=True) as oracle:
        oracle.reproduce()
        passing = [native_dag(count, "maximum", case.options["inject_fault"]) for count in (7, 6)]
        assert oracle.ask(passing + passing) == ["pass"] * 4
        before = oracle.compiles
        assert oracle.ask([each.with_(calls=2) for each in passing]) == ["pass"] * 2
        assert oracle.compiles == before + 2  # nothing is kept, in children that live on either


def test_a_compiler_that_hangs_is_met_in_a_child_only(monkeypatch: pytest.MonkeyPatch, tmp_path):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\nsleep 100\n")
    compiler.chmod(0o700)
    case = native_chain(4, "mul", "")
    for name, value in (("toolchain", "subprocess"), ("compiler", str(compiler))):
        monkeypatch.setattr(config, name, value)
    start = time.monotonic()
    with Oracle(case, limits=Limits(seconds=1)) as oracle:
        assert oracle.outcomes([case])[0].kind == "hang"
    assert time.monotonic() - start < 30


def test_graphs_that_cannot_be_read_or_compiled_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """The two others are compiled in one run, and no run is needed when it is their turn."""
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "kernels"))
    good = [native_chain(count, "mul", "") for count in (3, 4)]
    bad = [("no graph", "exact", {}), (good[0].graph_text, "exact", {"no_such_option": 1})]
    before = _core.compiler_runs()
    together.compile_rows([bad[0], together.row_of(good[0]), bad[1], together.row_of(good[1])])
    assert _core.compiler_runs() == before + 1
    for case in good:
        assert run_case.run(case).kind == "pass"
    assert _core.compiler_runs() == before + 1


def test_without_a_cache_nothing_is_compiled_along(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(config, "cache_dir", "off")
    before = _core.compiler_runs()
    together.compile_rows([together.row_of(native_chain(count, "mul", "")) for count in (3, 4)])
    assert _core.compiler_runs() == before


def test_small_graphs_come_along_at_small_odds_and_large_ones_at_good_ones():
    assert together.is_worth_it(0.3, 2) and not together.is_worth_it(0.2, 2)
    assert together.is_worth_it(0.5, 60) and not together.is_worth_it(0.5, 80)
    assert not together.is_worth_it(0.8, 1000)
