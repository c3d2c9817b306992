"""The toolbox, as Python sees it: reads event lines (see _core.pyi), never the compiler. C++ side: src/toolbox/toolbox.h.

`SourceLine` answers one line of a source file ("" when unknown), so that the toolbox opens no file named in an event.
JSON in and out is text; Python uses the json module.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

SourceLine = Callable[[str, int], str]

# --- logs ---------------------------------------------------------------------------------------------------------------

class LogSettings:
    """Result of parse_logs."""

    artifacts: list[str]  # switched on, table order
    events: list[str]  # names of the events they need
    help: str  # text to print first; "" unless `help` was asked
    def level(self, component: str) -> str:
        """ "error" | "warning" | "info" | "debug" of a component ("capture"), default "warning" """

def parse_logs(text: str) -> LogSettings:
    """The SUTURE_LOGS syntax. ValueError with the nearest name for an unknown one."""

def artifact_table() -> list[tuple[str, str, bool, str]]:
    """(name, component, off by default, help)"""

def component_table() -> list[tuple[str, str]]:
    """(name, help)"""

class LogLine:
    logger: str  # "suture.capture.graph_breaks"
    level: str  # "error" | "warning" | "info" | "debug"
    artifact: str
    compile_id: str
    file: str
    line: int
    function: str
    text: str  # may have several lines

class LogRenderer:
    """Turns events into log records. Keeps what repeats need: one per process."""

    def __init__(self, settings: LogSettings, source_line: SourceLine | None) -> None: ...
    def render(self, line: str) -> list[LogLine]: ...
    def finish(self) -> list[LogLine]:
        """Counts of collapsed repeats; call at exit."""

# --- debug dump ---------------------------------------------------------------------------------------------------------

def dump_table() -> list[tuple[str, list[str], str]]:
    """(file name, events that write it, doc) per line of dump_files.def"""

class DumpWriter:
    """Writes the files of a debug dump as events arrive. Methods return "" or what went wrong, told once."""

    def __init__(
        self,
        prelude: str,
        flags: str,
        facts: str,
        limit: int,
        source_line: SourceLine | None,
        compile_hook: Callable[[str, int], bytes] | None = None,
    ) -> None:
        """`facts`: a JSON object for the index. `compile_hook`: as in decompile_marshal; None: decompiled text is not checked."""
    def open(self, path: str) -> str: ...
    def add_line(self, line: str) -> str: ...
    def directory_of(self, compile_id: str) -> str:
        """Of a compile, below the dump; it exists. "" when the compile has none."""
    def finish(self) -> str: ...

# A run: the lines of each of its trace files.
Run = Sequence[Sequence[str]]

def chrome_trace(run: Run) -> str:
    """The run for chrome://tracing and Perfetto, as JSON."""

def trace_diff_json(before: Run, after: Run) -> str:
    """{"schema": 1, "changes": [{"what", "change", "function", "file", "line", "text", "before", "after"}]}"""

def trace_diff_text(before: Run, after: Run) -> str: ...

# --- explain ------------------------------------------------------------------------------------------------------------

def explain_json(lines: Sequence[str], status: str, source_line: SourceLine | None) -> str:
    """The explanation of one callable: `lines` from explain_records, `status` = json of _core.status ("" if unknown)."""

def explain_text(lines: Sequence[str], status: str, source_line: SourceLine | None) -> str: ...

# --- where --------------------------------------------------------------------------------------------------------------

# What the lines of a kernel file are made from: (path of the file, line of it on which the table's line 1 stands, JSON; see
# docs/provenance.md).
LineTable = tuple[str, int, str]

def line_tables_of_trace(lines: Sequence[str]) -> list[LineTable]:
    """Of the kernel_source events among the lines."""

kernel_lines_file: str  # name of a line table in the debug dump

def line_table_of_dump(path: str, content: str) -> list[LineTable]:
    """Of a kernel_lines.json at `path`; empty when `content` is none."""

def where(tables: Sequence[LineTable], query: str) -> tuple[str, str, bool]:
    """(JSON, text, whether something matches) for NAME:LINE. ValueError for a query of another form, a name that no table
    has (with the nearest) and a line beyond the kernels of the file."""

# --- reduce -------------------------------------------------------------------------------------------------------------

class Reducer:
    """A search for the simplest choice that still fails (src/toolbox/reduce). A choice is a number per element, 0: as it is.

    while not reducer.done:
        for candidate, choice, what in reducer.next_batch(workers):
            reducer.report(candidate, verdict)
    """

    @staticmethod
    def operations(
        nodes: Sequence[tuple[bool, bool, Sequence[int], Sequence[int]]],
        outputs: Sequence[int],
        budget: int,
        suspects: Sequence[tuple[Sequence[int], str, bool]] = (),
    ) -> Reducer:
        """Nodes in program order: (is an op, a number can stand for it, operands, indices of operands that can stand for it).
        Levels: 1 cut (readers read the recorded value), 2 a number, 3 + k its operand k; behind the nodes, per output, 1: not
        returned any more."""

    @staticmethod
    def lattice(levels: Sequence[int], budget: int) -> Reducer:
        """Elements with so many simpler forms each; 1 is the simplest."""
    done: bool
    out_of_budget: bool
    best: list[int]
    calls: int  # counted answers
    bound: int  # of the counted answers that are still needed
    def steps(self, first: int = 0) -> list[tuple[int, str, str, bool]]:
        """Serial answers from the `first` on: (candidate, question in words, verdict, counted)."""

    def next_batch(self, count: int = 1) -> list[tuple[int, list[int], str]]: ...
    def look_ahead(self, count: int, least: float) -> list[tuple[list[int], float]]:
        """Choices that nobody judges yet and that will be asked with at least this chance, most likely first, and the chances."""

    def report(self, candidate: int, verdict: str, counted: bool = True) -> None:
        """Verdicts: same, pass, other, infra. ValueError for a candidate that is not waiting."""

# --- clinic -------------------------------------------------------------------------------------------------------------

def clinic_json(
    lines: Sequence[str],
    statuses: str,
    facts: str,
    source_line: SourceLine | None,
    compile_hook: Callable[[str, int], bytes] | None = None,
) -> str:
    """Findings, functions and verdict of a whole run. `statuses`: JSON list of Status; `facts`: JSON object with what the
    command measured: {"wall_ms", "baseline_ms", "exit_code", "baseline": [Status]}; missing keys are unknown."""

def own_findings() -> list[dict[str, str]]:
    """Rows of clinic/findings.def: id, station, doc."""

def clinic_text(report_json: str) -> str:
    """Plain text of a clinic_json report (no terminal codes)."""

def escape_terminal(text: str) -> str:
    """Control characters made visible; newlines and tabs stay."""

def escape_line(text: str) -> str:
    """The same with newlines and tabs: one line comes out."""

# --- code objects -------------------------------------------------------------------------------------------------------
# A code object is given as marshal.dumps(code), `version` as (major, minor) of the Python it belongs to. Constants that
# cannot be marshalled are replaced by a list of one int before, [i], and stand for placeholder i.
# ValueError: the bytes are damaged or of another version; the message names the byte.

def decodable_versions() -> list[str]:
    """Python versions whose code objects can be read: "3.11", ..."""

def code_facts(marshalled: bytes, version: tuple[int, int]) -> dict[str, Any]:
    """What a code object holds, decoded: the co_* fields under their names without "co_", and

    consts: values; tuples and frozensets as ("tuple", [...]), long ints as ("int", literal), code objects as such dicts
    instructions: (offset, opcode name, argument, offset of the jump's target or -1, line, end line, column, end column)
    exceptions: (start, end, target, depth, lasti), in byte offsets
    """

def cut_off_caches(code: bytes, version: tuple[int, int]) -> int:
    """The byte of an instruction whose inline caches go beyond the end of the code; -1: there is none."""

def pyc_facts(file: bytes) -> tuple[tuple[int, int], dict[str, Any]]:
    """Of a .pyc file: version, and code_facts of the module."""

def same_bytecode_marshal(
    first: bytes, second: bytes, version: tuple[int, int], synthetic_locals: Sequence[str] = ()
) -> tuple[bool, str]:
    """Whether two code objects do the same, nested ones included; and the first difference, "" when they do.

    synthetic_locals: locals of the second that stand for the first one's position and stack (see path_equivalence.h).
    """

def compare_code_marshal(
    first: bytes, second: bytes, version: tuple[int, int], synthetic_locals: Sequence[str] = ()
) -> list[tuple[str, str, str]]:
    """(qualified name, verdict, difference) per code object of the first, parents first. Verdicts: "same bytecode",
    "path-equivalent", "different"."""

class DecompileRecord(TypedDict):
    source: str
    verdict: str  # the weakest of codes
    tier: int  # the lowest of codes
    codes: list[tuple[str, int, int, str, str]]  # qualified name, first line, tier, verdict, why in no higher tier
    renamed: dict[str, str]  # names that are no identifiers, and what the text calls them

def decompile_marshal(
    data: bytes,
    version: tuple[int, int],
    compile_hook: Callable[[str, int], bytes] | None,
    unverifiable: str,
    facts: bytes | None,
    qualname: str,
    tier: int,
) -> DecompileRecord:
    """Source for marshalled code (see decompile.h).

    compile_hook: source and future flags -> marshalled code of a module. None: nothing is checked, `unverifiable` says why.
    facts: what only the function object knows, see python/suture/_code_sources.py.
    qualname: of the code object meant, "" for all. tier: the first to try.
    """

class OutputNames(TypedDict):
    graph: str
    markers: tuple[str, str]  # tail calls, release of arguments
    continuations: tuple[str, str]  # what names of resume and iteration functions begin with
    helpers: dict[str, str]  # of readable text only: name and meaning

def output_names() -> OutputNames:
    """Names in transformed code, see src/bytecode/output_names.h."""

def decompile_output(
    data: bytes, version: tuple[int, int], kind: str, name: str, compile_hook: Callable[[str, int], bytes] | None
) -> DecompileRecord:
    """Source for the transformed code of a frame (kind "transformed": tail calls are calls, the emptying of variables is left out)
    or for a resume or iteration function (kind "continuation"), as the function `name` (see src/bytecode/readable_output.h);
    the verdict is about that."""

LineTables = tuple[int, bytes, list[tuple[int, "LineTables"]], str]

def map_lines(executing: bytes, printed: bytes, version: tuple[int, int], kind: str) -> LineTables:
    """(first line, line table, [(index into co_consts, the same of that code object)], where the pairing ended or ""): positions of
    `printed`, the compiled text, for `executing`. kind: as for decompile_output, "" where the text was made of `executing` itself."""

def pyc_code(file: bytes) -> tuple[tuple[int, int], bytes]:
    """Of a .pyc file: version of Python, and the marshalled code."""
