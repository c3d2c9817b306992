"""Functions that a debugger steps in their printed text: the same bytecode with the text's file name and line table.

Nothing but names and positions changes, so a printed text that were wrong could mislead a reader, never a run.
"""

from __future__ import annotations

import ast
import linecache
import marshal
import types
import warnings

from suture import _toolbox
from suture._compiled_code import CodeText
from suture._recompile import FUTURE_FLAGS, RUNNING


def wrapped_in_function(tree: ast.Module, free: tuple[str, ...]) -> ast.Module:
    """The module with its statements inside a function that has the free variables; positions stay as they are."""
    if not free:
        return tree
    body: list[ast.stmt] = list(tree.body)
    if "__class__" in free:
        # Of underscores only, so that the compiler changes no private names.
        owner = ast.parse("class _: pass").body[0]
        assert isinstance(owner, ast.ClassDef)
        owner.body = body
        body = [owner]
    outer = ast.parse("def __outer(): pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    names = [name for name in free if name != "__class__"]
    outer.body = [*(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in names), *body]
    module = ast.Module([outer], [])
    return ast.fix_missing_locations(module)


def code_named(code: types.CodeType, name: str) -> types.CodeType | None:
    """The outermost code object of this name, the last of several."""
    level = [code]
    while level:
        nested = [constant for each in level for constant in each.co_consts if type(constant) is types.CodeType]
        for each in reversed(nested):
            if each.co_name == name:
                return each
        level = nested
    return None


def _printed_code(source: str, name: str, code: types.CodeType) -> types.CodeType | None:
    """`source` compiled where it stands; None when it does not compile or does not define the function."""
    free = tuple(sorted({*code.co_freevars} - {*_toolbox.output_names()["markers"]}))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = wrapped_in_function(ast.parse(source), free)
            module = compile(tree, "<printed>", "exec", code.co_flags & FUTURE_FLAGS, True, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return code_named(module, name)


def _with_lines(code: types.CodeType, tables: _toolbox.LineTables, file: str) -> types.CodeType:
    first, table, nested, _ = tables
    constants = list(code.co_consts)
    for index, inner in nested:
        constants[index] = _with_lines(constants[index], inner, file)
    return code.replace(co_filename=file, co_firstlineno=first, co_linetable=table, co_consts=tuple(constants))


def steppable(function: types.FunctionType, text: CodeText, file: str, source: str) -> types.FunctionType | None:
    """`function` as a debugger sees it in `source`, the content of `file`, which holds `text`. None: there is no way to tell
    which line an instruction belongs to."""
    printed = _printed_code(source, text.name, function.__code__)
    if printed is None:
        return None
    try:
        tables = _toolbox.map_lines(text.data, marshal.dumps(printed), RUNNING, text.kind)
    except ValueError:
        return None
    code = _with_lines(function.__code__, tables, file).replace(co_name=text.name, co_qualname=text.name)
    twin = types.FunctionType(code, function.__globals__, text.name, function.__defaults__, function.__closure__)
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__module__ = function.__module__
    return twin


def register(file: str, source: str) -> None:
    """Lets debuggers and tracebacks quote a text that is in no file."""
    lines: list[str] = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)


def forget(files: list[str]) -> None:
    for file in files:
        linecache.cache.pop(file, None)
