"""pytest plugin: fixtures `suture_explain` and `suture_backend_law`, and the markers `no_graph_break` and `max_recompiles`.

    def test_hot_path(suture_explain):
        report = suture_explain(step, x, 3.0)
        assert report.graph_break_count == 0

    @pytest.mark.no_graph_break
    @pytest.mark.max_recompiles(1)
    def test_training_loop(): ...

    def test_contract(suture_backend_law):   # one test per program of suture.testing.check_backend
        suture_backend_law(my_backend)

The package itself is imported only when a test uses it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "no_graph_break: the test fails when a compiled function breaks its graph")
    config.addinivalue_line("markers", "max_recompiles(n): the test fails when more than n recompiles happen")


@pytest.fixture
def suture_explain() -> Callable[..., Any]:
    """suture_explain(fn, *args, **kwargs) -> suture.Explanation of a fresh run."""
    from suture._explain import Explanation, explain

    def run(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
        made = explain(fn)
        if isinstance(made, Explanation) and not args and not kwargs:
            return made
        return made(*args, **kwargs)

    return run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "suture_backend_law" in metafunc.fixturenames:
        from suture.testing import backend_laws

        metafunc.parametrize("suture_backend_law", backend_laws(), ids=lambda law: law.name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    no_break = item.get_closest_marker("no_graph_break")
    limit = item.get_closest_marker("max_recompiles")
    if no_break is None and limit is None:
        return (yield)
    from suture import _core

    records: list[dict[str, Any]] = []
    token = _core.subscribe(["graph_break", "recompile"], lambda line: records.append(json.loads(line)))
    try:
        result = yield
    finally:
        _core.unsubscribe(token)
    _judge(records, no_break is not None, limit)
    return result


def _judge(records: list[dict[str, Any]], no_break: bool, limit: pytest.Mark | None) -> None:
    from suture._toolbox import escape_line

    breaks = [record["fields"] for record in records if record["event"] == "graph_break"]
    if no_break and breaks:
        texts = [f"{b['file']}:{b['line']}: {b['reason']}: {b['explanation']}" for b in breaks]
        lines = dict.fromkeys(map(escape_line, texts))  # several compiles meet the same one
        pytest.fail("graph breaks in a test marked no_graph_break:\n" + "\n".join(lines), pytrace=False)
    recompiles = [record["fields"] for record in records if record["event"] == "recompile"]
    if limit is not None and len(recompiles) > limit.args[0]:
        failures = [escape_line(f"{r['function']}: {'; '.join(r['failures'])}") for r in recompiles]
        pytest.fail(
            f"{len(recompiles)} recompiles, at most {limit.args[0]} allowed:\n" + "\n".join(failures), pytrace=False
        )
