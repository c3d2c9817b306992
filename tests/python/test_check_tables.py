"""The check of the tables notices a row that nothing produces, however often the code asks for it."""

import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "check_tables.py"))


@pytest.mark.parametrize("table", SCRIPT["ENUMERATED"])
def test_a_new_row_that_nothing_makes_and_no_page_shows_is_a_problem(table, monkeypatch):
    macro, _, page_name, *_ = SCRIPT["ENUMERATED"][table]
    names, read = SCRIPT["enumerated"].__globals__, SCRIPT["table_text"]
    monkeypatch.setitem(names, "ENUMERATED", {table: SCRIPT["ENUMERATED"][table]})
    monkeypatch.setitem(names, "table_text", lambda name: read(name) + f'\n{macro}(kUnmade, "of_the_test")\n')
    assert SCRIPT["enumerated"]() == [
        f"src/{table}: kUnmade (of_the_test) is produced nowhere",
        f"docs/reference/{page_name}: of_the_test of src/{table} is missing",
    ]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("guard/guards.def", "case GuardKind::kNew: return true;"),
        ("guard/guards.def", "if (guard.kind == GuardKind::kNew || GuardKind::kNew != kind) return;"),
        ("trace/events.def", "if (!trace.wants(EventId::kNew)) return;"),
        ("trace/events.def", "constexpr EventId kRecorded[] = {EventId::kOld, EventId::kNew};"),
        ("trace/events.def", "mask |= event_bit(EventId::kNew);"),
    ],
)
def test_asking_for_a_row_does_not_produce_it(table, code):
    _, enum, _, pattern, _ = SCRIPT["ENUMERATED"][table]
    assert not SCRIPT["produced"](pattern, enum, "kNew", code)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("guard/guards.def", "guard.kind = GuardKind::kNew;"),
        ("guard/guards.def", "guard(fact_about(GuardKind::kNew, source, 0));"),
        ("trace/events.def", "trace.emit(Event(EventId::kNew, id));"),
        ("trace/events.def", "Event event(EventId::kNew, id);"),
    ],
)
def test_making_a_row_produces_it(table, code):
    _, enum, _, pattern, _ = SCRIPT["ENUMERATED"][table]
    assert SCRIPT["produced"](pattern, enum, "kNew", code)
