"""Every row of a table is used, every use names a row, every table has its page in docs/reference.

    breaks.def, guards.def, events.def, fusion_reasons.def, perf_hints.def   a row's enumerator is produced somewhere: comparing with it,
                                                             a case label and asking who wants it produce nothing
    events.def fields                                        set on an event somewhere; no event sets another field
    options.def                                              read somewhere; no reader asks for another option
    artifacts.def                                            has a writer; components exist and have an artifact or message
    dump_files.def                                           has a writer
    breaks.def                                               has a program in break_programs and a station of stations.def
    perf_hints.def                                           has a program in hint_programs
    findings.def                                             a finding is made of it
    all                                                      page, with every row's name in it

Exits 1 and names each offending row.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
# Reasons that a program alone cannot cause: another Python, a defect of ours, a bad backend, no compiler.
BREAKS_WITHOUT_PROGRAM = {"SB504", "SB507", "SB508", "SB509"}
# It is the machine, not the program.
HINTS_WITHOUT_PROGRAM = {"slow_blas"}
# How the code names an enumerator that it makes, for example `guard.kind = GuardKind::kSize`.
MADE = r"(?<!case )(?<![=!]= )\b{enum}::{enumerator}\b(?! [=!]=)"
# An event is made by `Event(EventId::kReplay, id)` or a function that passes the id on; listeners only name it.
EVENT_MADE = r"(?<!wants)(?<!event_bit)\({enum}::{enumerator}\b"
# table -> (macro, enum of its rows, page, pattern, rooms that only read the table)
ENUMERATED = {
    "capture/breaks.def": ("SUTURE_BREAK", "BreakReason", "breaks.md", MADE, {"toolbox"}),
    "guard/guards.def": ("SUTURE_GUARD", "GuardKind", "guards.md", MADE, {"toolbox"}),
    "trace/events.def": ("SUTURE_EVENT", "EventId", "events.md", EVENT_MADE, {"trace", "toolbox", "bindings"}),
    "schedule/fusion_reasons.def": ("SUTURE_FUSION_REASON", "FusionReason", "fusion.md", MADE, {"toolbox"}),
    "driver/perf_hints.def": ("SUTURE_PERF_HINT", "PerfHintId", "perf_hints.md", MADE, {"toolbox"}),
}


def table_text(table: str) -> str:
    return (SRC / table).read_text()


def rows(table: str, macro: str) -> list[tuple[str, str]]:
    """(enumerator, name) of tables whose rows begin with an enumerator and a quoted name."""
    return re.findall(rf'^{macro}\((\w+),\s*"([^"]*)"', table_text(table), flags=re.M)


def plain_rows(table: str, macro: str) -> list[str]:
    """First column of tables whose rows begin with a bare name."""
    return re.findall(rf"^{macro}\((\w+),", table_text(table), flags=re.M)


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0]


def sources(*rooms: str, without: Collection[str] = ()) -> str:
    paths = [
        p
        for p in SRC.rglob("*")
        if p.suffix in (".cpp", ".h") and (not rooms or room_of(p) in rooms) and room_of(p) not in without
    ]
    return "\n".join(re.sub(r"//.*", "", path.read_text(errors="replace")) for path in sorted(paths))


def page(name: str) -> str:
    path = ROOT / "docs" / "reference" / name
    return path.read_text() if path.exists() else ""


def undocumented(table: str, names: list[str], page_name: str) -> list[str]:
    text = page(page_name)
    return [f"docs/reference/{page_name}: {name} of src/{table} is missing" for name in names if name not in text]


def produced(pattern: str, enum: str, enumerator: str, text: str) -> bool:
    return re.search(pattern.format(enum=enum, enumerator=enumerator), text) is not None


def enumerated() -> list[str]:
    problems = []
    for table, (macro, enum, page_name, pattern, readers) in ENUMERATED.items():
        text = sources(without=readers)
        for enumerator, name in rows(table, macro):
            if not produced(pattern, enum, enumerator, text):
                problems.append(f"src/{table}: {enumerator} ({name}) is produced nowhere")
        problems += undocumented(table, [name for _, name in rows(table, macro)], page_name)
    return problems


def event_fields() -> list[str]:
    fields = re.findall(r"^SUTURE_EVENT_FIELD\((\w+), (\w+),", table_text("trace/events.def"), flags=re.M)
    known = {field for _, field in fields}
    events = {enumerator for enumerator, _ in rows("trace/events.def", "SUTURE_EVENT")}
    used = set(re.findall(r'\.set\(\s*"(\w+)"', sources("driver", "runtime")))
    problems = [
        f"src/trace/events.def: field {event}.{field} is set nowhere" for event, field in fields if field not in used
    ]
    problems += [
        f"src/trace/events.def: no event has the field '{field}' that is set" for field in sorted(used - known)
    ]
    problems += [
        f"src/trace/events.def: {event} has fields but is no event" for event, _ in fields if event not in events
    ]
    read = re.findall(r'\b(?:event|record)\.(?:str|integer|number|flag|list|dict)\("(\w+)"', sources("toolbox"))
    problems += [f"src/toolbox reads the field '{field}', which no event has" for field in sorted(set(read) - known)]
    return problems


def options() -> list[str]:
    names = plain_rows("driver/options.def", "SUTURE_OPTION")
    package = "\n".join(path.read_text() for path in sorted((ROOT / "python/suture").rglob("*.py")))
    in_compiler = set(
        re.findall(r'\boptions(?:\(\))?\.(?:text|flag|number|set)\("(\w+)"', sources("driver", "bindings"))
    )
    in_compiler |= set(re.findall(r'\bname == "(\w+)"', sources("driver")))
    in_package = set(re.findall(r"\bconfig\.(\w+)\b", package)) | set(re.findall(r'\bname == "(\w+)"', package))
    used = in_compiler | in_package
    problems = [f"src/driver/options.def: {name} is read nowhere" for name in names if name not in used]
    problems += [f"src/driver: '{name}' is asked for and is no option" for name in sorted(in_compiler - set(names))]
    domains = re.findall(
        r'^SUTURE_OPTION\((\w+), (\w+), "[^"]*", "[^"]*", (\w+), "([^"]*)",',
        table_text("driver/options.def"),
        flags=re.M,
    )
    if len(domains) != len(names):
        problems.append("src/driver/options.def: a row does not have seven columns")
    for name, kind, scope, domain in domains:
        if kind not in ("bool", "int", "str") or scope not in ("function", "process", "output"):
            problems.append(f"src/driver/options.def: {name}: {kind}, {scope}")
        if kind == "int" and not re.fullmatch(r"-?\d+\.\.\d*", domain):
            problems.append(f"src/driver/options.def: {name}: an int has a least value")
    return problems + undocumented("driver/options.def", names, "config.md")


def artifacts() -> list[str]:
    table = "toolbox/logs/artifacts.def"
    found = re.findall(r"^SUTURE_ARTIFACT\((\w+), (\w+),", table_text(table), flags=re.M)
    components = plain_rows("toolbox/logs/components.def", "SUTURE_COMPONENT")
    text = sources("toolbox")
    problems = [f"src/{table}: nothing writes {name}" for name, _ in found if f"render_{name}(" not in text]
    problems += [
        f"src/{table}: {name}: no component is named {component}"
        for name, component in found
        if component not in components
    ]
    speaking = {component for _, component in found} | set(re.findall(r'\{EventId::\w+, "(\w+)"', text))
    problems += [f"src/toolbox/logs/components.def: {name} says nothing" for name in components if name not in speaking]
    return problems + undocumented(table, [name for name, _ in found] + components, "logs.md")


def dump_files() -> list[str]:
    table = "toolbox/dump/dump_files.def"
    found = re.findall(r'^SUTURE_DUMP_FILE\((\w+), "([^"]+)"', table_text(table), flags=re.M)
    text = sources("toolbox")
    problems = [f"src/{table}: nothing writes {name}" for name, _ in found if f"write_{name}(" not in text]
    return problems + undocumented(table, [file for _, file in found], "dump.md")


def breaks() -> list[str]:
    stations = plain_rows("toolbox/clinic/stations.def", "SUTURE_STATION")
    programs = {
        re.match(r"sb\d+", path.name).group(0).upper()
        for path in (ROOT / "python/suture/break_programs").glob("sb*.py")
    }  # type: ignore[union-attr]
    problems = []
    columns = re.findall(r'^SUTURE_BREAK\(\w+, "(SB\d+)", (\w+), (\w+),', table_text("capture/breaks.def"), flags=re.M)
    if len(columns) != len(rows("capture/breaks.def", "SUTURE_BREAK")):
        problems.append("src/capture/breaks.def: a row has no station or severity")
    for code, station, _ in columns:
        if code not in programs and code not in BREAKS_WITHOUT_PROGRAM:
            problems.append(f"python/suture/break_programs: no program for {code}")
        if station not in stations:
            problems.append(f"src/capture/breaks.def: {code}: no station is named {station}")
    codes = {code for code, _, _ in columns}
    problems += [
        f"python/suture/break_programs: {code} is no reason"
        for code in sorted((programs | BREAKS_WITHOUT_PROGRAM) - codes)
    ]
    hard_coded = re.findall(r'"(SB\d{3})"', sources())
    problems += [f"src: {code} is written out; the table has it" for code in sorted(set(hard_coded))]
    return problems


def hints() -> list[str]:
    table = "driver/perf_hints.def"
    names = {name for _, name in rows(table, "SUTURE_PERF_HINT")}
    programs = {path.stem for path in (ROOT / "python/suture/hint_programs").glob("*.py")}
    problems = [
        f"python/suture/hint_programs: no program for {name}"
        for name in sorted(names - programs - HINTS_WITHOUT_PROGRAM)
    ]
    return problems + [
        f"python/suture/hint_programs: {name} is no hint" for name in sorted((programs | HINTS_WITHOUT_PROGRAM) - names)
    ]


def pages() -> list[str]:
    names = plain_rows("passes/passes.def", "SUTURE_PASS")
    return undocumented("passes/passes.def", names, "passes.md")


def findings() -> list[str]:
    table = "toolbox/clinic/findings.def"
    names = plain_rows(table, "SUTURE_FINDING")
    text = sources("toolbox")
    problems = [f"src/{table}: nothing makes {name}" for name in names if f"OwnFinding::{name}" not in text]
    return problems + undocumented(table, names, "findings.md")


def main() -> int:
    tables = (enumerated, event_fields, options, artifacts, dump_files, breaks, hints, findings, pages)
    problems = [problem for check in tables for problem in check()]
    for problem in problems:
        print(problem)
    print(f"tables: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
