"""The check of the tables notices a row that nothing produces, however often the code asks for it."""

import re
import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "check_tables.py"))
ROWS = [
    pytest.param(table, enumerator, id=enumerator)
    for table, (macro, *_) in SCRIPT["ENUMERATED"].items()
    for enumerator, _ in SCRIPT["rows"](table, macro)
]


@pytest.mark.parametrize(("table", "enumerator"), ROWS)
def test_a_row_that_is_no_longer_produced_is_noticed(table, enumerator):
    _, enum, _, pattern, readers = SCRIPT["ENUMERATED"][table]
    text = SCRIPT["sources"](without=readers)
    assert SCRIPT["produced"](pattern, enum, enumerator, text)
    without = re.sub(pattern.format(enum=enum, enumerator=enumerator), "(gone", text)
    assert not SCRIPT["produced"](pattern, enum, enumerator, without)


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
