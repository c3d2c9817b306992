"""Reduction of a Python program: for failures that lie outside of one graph, and for any test of a file.

How it works
    The program is read as a syntax tree. A round makes a list of its places and, for each, of simpler forms, simplest first; the
    engine (src/toolbox/reduce, the lattice search) finds the simplest combination that the test still accepts. Rounds:

        statements   gone; a compound statement becomes its body, or its else part, an assignment its value
        lists        decorators, arguments, items, handlers, and what else may be left out: gone
        expressions  an operand, an argument, the object of an attribute or an index in place of the whole
        copies       what a name is a copy of, in place of the name (copies.py)
        names        0 in place of a name or a call
        constants    0, 1, ""

    and again from the first one, until a whole turn changes nothing. A tree is written with ast.unparse: comments and layout go.
Invariants
    - What is returned was accepted by the test, as text, unless the program itself was refused (NotReproduced).
    - Texts that Python does not compile are never tested; no text is tested twice.
    - The result does not depend on the number of workers.
"""

from __future__ import annotations

import ast
import hashlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from suture._minify import copies, plain_text
from suture._minify.checkpoint import Checkpoint
from suture._minify.defaults import BUDGET
from suture._minify.oracle import MinifyError
from suture._minify.predicate import refused
from suture._minify.progress import Progress
from suture._minify.signature import Verdict
from suture._toolbox import Reducer

_MOST_TURNS = 8

Test = Callable[[str], bool]
Form = Callable[[ast.AST], "ast.AST | list[ast.stmt] | None"]  # None: the node goes
Place = tuple[ast.AST, list[Form]]


@dataclass
class SourceResult:
    """
    text      the smallest program that the test accepts
    calls     tests that the search was led by
    complete  False: interrupted, the budget or the time was used up, or candidates cannot be run any more; `stopped` says why
    notes     what else the user should know
    """

    text: str
    original: str
    calls: int = 0
    seconds: float = 0.0
    complete: bool = True
    stopped: str = ""
    steps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def log(self) -> str:
        return "\n".join(self.steps)

    def __str__(self) -> str:
        before, after = (len(text.splitlines()) for text in (self.original, self.text))
        ending = "" if self.complete else f"\nnot complete: {self.stopped}"
        return "\n".join(
            [f"{before} lines -> {after} lines, {self.calls} calls, {self.seconds:.1f} s{ending}", *self.notes]
        )


class _Stop(Exception):
    """The search ends where it is."""


def reduce_source(
    text: str,
    test: Test,
    *,
    workers: int = 1,
    budget: int = BUDGET,
    seconds: float | None = None,
    progress: Callable[[Progress], None] = lambda step: None,
    stop: Callable[[], None] = lambda: None,
    checkpoint: Checkpoint | None = None,
) -> SourceResult:
    """The smallest program that `test` accepts. `test(text)` is called in as many threads as there are workers; `stop()` ends
    what it has running.

    checkpoint  verdicts of an earlier search of the same program with the same test, and where new ones go

    NotReproduced when it refuses the program itself; SyntaxError for what is no Python program; OSError when the program itself cannot
    be tested. KeyboardInterrupt, and OSError of a test later on, end the search: the result then says that it is not complete.
    """
    ast.parse(text)
    search = _Search(text, test, workers, budget, seconds, progress, checkpoint)
    try:
        search.run()
    except (KeyboardInterrupt, _Stop) as ended:
        stop()
        search.result.complete, search.result.stopped = False, str(ended) or "interrupted"
    except OSError as error:
        stop()
        if not search.result.calls:
            raise
        search.result.complete = False
        search.result.stopped = plain_text.not_run(error)
    finally:
        search.close()
    return search.result


class _Search:
    def __init__(
        self,
        text: str,
        test: Test,
        workers: int,
        budget: int,
        seconds: float | None,
        progress: Callable[[Progress], None],
        checkpoint: Checkpoint | None,
    ) -> None:
        self.result = SourceResult(text, text)
        self._test, self._workers, self._budget, self._progress = test, max(workers, 1), budget, progress
        self._pool = ThreadPoolExecutor(self._workers)
        self._began = time.monotonic()
        self._deadline = self._began + seconds if seconds else None
        self._known: dict[str, bool] = {}
        self._counted: set[str] = set()
        self._checkpoint = checkpoint
        self._earlier = dict(checkpoint.verdicts) if checkpoint else {}

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.result.seconds = time.monotonic() - self._began

    def run(self) -> None:
        if not self._asked(self.result.text):
            raise refused(self._test)
        plain = ast.unparse(ast.parse(self.result.text)) + "\n"
        if self._asked(plain):
            self.result.text = plain
        for _ in range(_MOST_TURNS):
            before = self.result.text
            for stage, places in ROUNDS:
                self._round(stage, places)
            if self.result.text == before:
                return

    def _asked(self, text: str) -> bool:
        if not self._is_known(text):
            self._learn(text, self._test(text))
        self._count(text)
        return self._known[text]

    def _is_known(self, text: str) -> bool:
        if text not in self._known and (verdict := self._earlier.get(key_of(text))) is not None:
            self._known[text] = verdict is Verdict.SAME
            self._counted.add(text)  # it cost nothing
        return text in self._known

    def _learn(self, text: str, accepted: bool) -> None:
        self._known[text] = accepted
        if self._checkpoint:
            try:
                self._checkpoint.add(key_of(text), Verdict.SAME if accepted else Verdict.PASS)
            except MinifyError as error:  # what was found so far is worth more than the file
                self._checkpoint = None
                self.result.notes.append(f"{error}. The search went on without it")

    def _count(self, text: str) -> None:
        if text not in self._counted:
            self._counted.add(text)
            self.result.calls += 1

    def _round(self, stage: str, places: Callable[[ast.Module], Iterator[Place]]) -> None:
        text = self.result.text
        levels = [len(forms) for _, forms in places(ast.parse(text))]
        if not levels:
            return
        reducer = Reducer.lattice(levels, max(self._budget - self.result.calls, 0))
        built: dict[int, str] = {}
        waiting: dict[Future[bool], int] = {}
        seen = 0
        while not reducer.done:
            if self._deadline is not None and time.monotonic() > self._deadline:
                raise _Stop("the time is over")
            for candidate, choice, _ in reducer.next_batch(self._workers - len(waiting)):
                made = _built(text, places, choice)
                if made is None:
                    reducer.report(candidate, "infra", False)
                    continue
                built[candidate] = made
                if self._is_known(made):
                    reducer.report(candidate, _verdict(self._known[made]))
                else:
                    waiting[self._pool.submit(self._test, made)] = candidate
            if waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    candidate = waiting.pop(future)
                    self._learn(built[candidate], future.result())
                    reducer.report(candidate, _verdict(future.result()))
            seen = self._note(stage, reducer, seen, built)
        for future, candidate in waiting.items():  # answers that nobody needs any more
            self._learn(built[candidate], future.result())
        if reducer.out_of_budget:
            raise _Stop(f"the budget of {self._budget} tests is used up")

    def _note(self, stage: str, reducer: Reducer, seen: int, built: dict[int, str]) -> int:
        steps = reducer.steps(seen)
        for candidate, what, verdict, _ in steps:
            before = len(self.result.text.splitlines())
            if candidate in built:
                self._count(built[candidate])
            if candidate in built and verdict == "same":
                self.result.text = built[candidate]
            after = len(self.result.text.splitlines())
            ending = {"same": "accepted: taken", "pass": "refused"}.get(verdict, "no program: refused")
            self.result.steps.append(f"{stage}: {what}: {ending}")
            spent = time.monotonic() - self._began
            calls, bound = self.result.calls, reducer.bound
            self._progress(Progress(stage, what, verdict, before, after, calls, bound, spent, "lines"))
        return seen + len(steps)


def key_of(text: str) -> str:
    """Of a candidate in a checkpoint."""
    return hashlib.sha256(text.encode()).hexdigest()


def _verdict(accepted: bool) -> str:
    return "same" if accepted else "pass"


# --- trees ---------------------------------------------------------------------------------------------------------------


def _built(text: str, places: Callable[[ast.Module], Iterator[Place]], choice: Sequence[int]) -> str | None:
    """The program with the chosen forms; None when that is no program."""
    tree = ast.parse(text)
    chosen = {id(node): forms[level - 1] for (node, forms), level in zip(places(tree), choice, strict=True) if level}
    try:
        made = ast.unparse(ast.fix_missing_locations(_Rewriter(chosen).visit(tree))) + "\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(made, "<candidate>", "exec")
    except (SyntaxError, ValueError, AttributeError, TypeError, RecursionError):
        return None
    return made


_BODIES = ("body", "orelse", "finalbody")


class _Rewriter(ast.NodeTransformer):
    """Puts forms in place of nodes. A form is made after what is inside of the node was rewritten."""

    def __init__(self, chosen: dict[int, Form]) -> None:
        self._chosen = chosen

    def visit(self, node: ast.AST) -> Any:
        form = self._chosen.get(id(node))
        if isinstance(node, ast.arguments):
            self._visit_arguments(node)
        else:
            self.generic_visit(node)
        for name in node._fields:
            if not hasattr(
                node, name
            ):  # what went and stands in no list; where it must not go, the result is no program
                setattr(node, name, None)
        if getattr(node, "body", None) == [] and not isinstance(node, ast.Module):
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node if form is None else form(node)

    def _visit_arguments(self, node: ast.arguments) -> None:
        """Arguments go together with their defaults."""
        positional = [*node.posonlyargs, *node.args]
        start = len(positional) - len(node.defaults)
        defaults = {id(arg): default for arg, default in zip(positional[start:], node.defaults, strict=True)}
        keyword = {id(arg): default for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)}
        for arg in (*positional, *node.kwonlyargs):
            if id(arg) in self._chosen:
                defaults.pop(id(arg), None)
                keyword.pop(id(arg), None)
        node.defaults, node.kw_defaults = list(defaults.values()), list(keyword.values())
        self.generic_visit(node)


def _gone(node: ast.AST) -> None:
    return None


def _field(name: str, index: int | None = None) -> Form:
    def form(node: ast.AST) -> Any:
        value = getattr(node, name)
        return value if index is None else value[index]

    return form


def _value_alone(node: ast.AST) -> ast.Expr:
    return ast.Expr(node.value)  # type: ignore[attr-defined]


def _statements(tree: ast.Module) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Pass):
            parts = [_field(name) for name in _BODIES if getattr(node, name, None)]
            assigned = (
                isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)) and node.value is not None
            )
            yield node, [_gone, *parts, *([_value_alone] if assigned else [])]


_LISTS = {  # field -> items that must stay
    "decorator_list": 0,
    "keywords": 0,
    "args": 0,
    "posonlyargs": 0,
    "kwonlyargs": 0,
    "elts": 0,
    "values": 1,
    "names": 1,
    "handlers": 1,
    "items": 1,
    "bases": 0,
    "ifs": 0,
    "targets": 1,
}


_OPTIONAL: dict[type[ast.AST], tuple[str, ...]] = {
    ast.arguments: ("vararg", "kwarg"),
    ast.arg: ("annotation",),
    ast.FunctionDef: ("returns",),
    ast.AsyncFunctionDef: ("returns",),
    ast.Return: ("value",),
    ast.Yield: ("value",),
    ast.Assert: ("msg",),
    ast.Raise: ("cause",),
    ast.Slice: ("lower", "upper", "step"),
    ast.ExceptHandler: ("type",),
    ast.withitem: ("optional_vars",),
    ast.FormattedValue: ("format_spec",),
    ast.match_case: ("guard",),
}


def _list_items(tree: ast.Module) -> Iterator[Place]:
    for node in ast.walk(tree):
        for name, least in _LISTS.items():
            items = getattr(node, name, None)
            if isinstance(items, list) and len(items) > least and not isinstance(node, (ast.Dict, ast.JoinedStr)):
                for item in items:
                    if isinstance(item, ast.AST):
                        yield item, [_gone]
        for name in _OPTIONAL.get(type(node), ()):
            if isinstance(part := getattr(node, name), ast.AST):
                yield part, [_gone]


def _expressions(tree: ast.Module) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            forms = _simpler(node)
            if forms:
                yield node, forms


def _simpler(node: ast.expr) -> list[Form]:
    """Parts of an expression that can stand for it."""
    match node:
        case ast.BinOp():
            return [_field("left"), _field("right")]
        case ast.UnaryOp():
            return [_field("operand")]
        case ast.BoolOp(values=values):
            return [_field("values", i) for i in range(len(values))]
        case ast.Compare():
            return [_field("left"), _field("comparators", 0)]
        case ast.IfExp():
            return [_field("body"), _field("orelse")]
        case ast.Call(args=args):
            of = [lambda call: call.func.value] if isinstance(node.func, ast.Attribute) else []  # x.f() -> x
            named = [_keyword(i) for i in range(len(node.keywords))]
            return [*(_field("args", i) for i in range(len(args))), *named, *of]
        case ast.Subscript() | ast.Attribute() | ast.Starred() | ast.Await() | ast.NamedExpr():
            return [_field("value")]
        case ast.JoinedStr():
            return [lambda node: ast.Constant("")]
        case ast.Dict(keys=keys) if keys:
            half = len(keys) // 2
            return [_items(0, 0), *([_items(0, half), _items(half, len(keys))] if half else [])]
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            return [lambda node: node.generators[0].iter]
    return []


def _keyword(index: int) -> Form:
    return lambda node: node.keywords[index].value  # type: ignore[attr-defined]


def _items(first: int, last: int) -> Form:
    """A dict with a part of its items."""
    return lambda node: ast.Dict(node.keys[first:last], node.values[first:last])  # type: ignore[attr-defined]


def _copies(tree: ast.Module) -> Iterator[Place]:
    for name, value in copies.uses(tree):
        yield name, [_instead(value)]


def _instead(value: ast.expr) -> Form:
    return lambda node: value


def _names(tree: ast.Module) -> Iterator[Place]:
    """A number in place of a name or a call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            yield node, [_constant(0)]


def _constants(tree: ast.Module) -> Iterator[Place]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or isinstance(node.value, (bool, bytes)) or node.value is None:
            continue
        simple: list[str | int] = (
            [""] if isinstance(node.value, str) else [0, 1] if isinstance(node.value, (int, float)) else []
        )
        forms = [_constant(value) for value in simple]
        known = [value == node.value and type(value) is type(node.value) for value in simple]
        if True in known:
            forms = forms[: known.index(True)]
        if forms:
            yield node, forms


def _constant(value: str | int) -> Form:
    return lambda node: ast.Constant(value)


ROUNDS: list[tuple[str, Callable[[ast.Module], Iterator[Place]]]] = [
    ("statements", _statements),
    ("lists", _list_items),
    ("expressions", _expressions),
    ("copies", _copies),
    ("names", _names),
    ("constants", _constants),
]
