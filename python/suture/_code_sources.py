"""Where code objects come from: functions, modules, files, names of modules. Nothing is imported, and nothing is run."""

from __future__ import annotations

import functools
import importlib.machinery
import inspect
import marshal
import os
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from suture import _core
from suture._recompile import RUNNING, Version

_LARGEST = 64 << 20  # bytes of a file


@dataclass
class CodeSource:
    """A code object on its way to the decompiler."""

    data: bytes  # marshalled code, or a whole .pyc file
    version: Version = RUNNING
    is_pyc: bool = False
    select: str = ""  # qualified name of the code object meant, in it
    facts: bytes | None = None  # what only the function object knows, see _function_facts
    objects: list[Any] = field(default_factory=list)  # constants that are no literals; `_K[i]` in the text


class Placeholders:
    """Makes code marshallable: a constant that is no literal becomes [i], and `objects[i]` keeps it."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._made: dict[
            int, Any
        ] = {}  # by the identity of tuples and code objects, which can hold each other many times

    def marshalled(self, code: types.CodeType) -> bytes:
        _check_ends(code)
        try:
            if not _has_odd_constant(code):
                return marshal.dumps(code)
            return marshal.dumps(self._code(code, 0))
        except RecursionError:
            raise ValueError("its constants are nested too deeply") from None

    def _code(self, code: types.CodeType, depth: int) -> types.CodeType:
        return code.replace(co_consts=tuple(self.constant(value, depth + 1) for value in code.co_consts))

    def constant(self, value: Any, depth: int = 0) -> Any:
        if depth > 500:
            raise ValueError("its constants are nested too deeply")
        kind = type(value)
        if value is None or value is ... or kind in (bool, int, float, complex, str, bytes):
            return value
        if kind is types.CodeType or kind is tuple:
            if id(value) not in self._made:
                made = self._code(value, depth) if kind is types.CodeType else self._tuple(value, depth)
                self._made[id(value)] = made
            return self._made[id(value)]
        if kind is frozenset and not any(_is_odd(item) for item in value):
            return value
        return self.kept(value)

    def _tuple(self, value: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
        return tuple(self.constant(item, depth + 1) for item in value)

    def kept(self, value: Any) -> list[int]:
        """What stands for the object."""
        for number, known in enumerate(self.objects):
            if known is value:
                return [number]
        self.objects.append(value)
        return [len(self.objects) - 1]


def _check_ends(code: types.CodeType) -> None:
    """CPython writes behind the end of code that ends inside an instruction, when it is asked for a copy of it."""
    from suture import _toolbox

    todo: list[Any] = [code]
    seen = set()  # tuples and code objects can hold each other many times
    while todo:
        each = todo.pop()
        if type(each) not in (types.CodeType, tuple) or id(each) in seen:
            continue
        seen.add(id(each))
        if type(each) is tuple:
            todo.extend(each)
            continue
        todo.extend(each.co_consts)
        # The one attribute that copies bytes as they are.
        at = _toolbox.cut_off_caches(each._co_code_adaptive, RUNNING)
        if at >= 0:
            raise ValueError(f"{each.co_qualname}: the code ends inside the instruction at byte {at}")


def _is_odd(value: Any) -> bool:
    """Not what a literal gives, exactly: a subclass of int prints as something else."""
    todo = [value]
    seen = set()  # tuples can hold each other many times
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is types.CodeType or kind is tuple or kind is frozenset:
            if id(item) in seen:
                continue
            seen.add(id(item))
            todo.extend(item.co_consts if kind is types.CodeType else item)
        elif item is not None and item is not ... and kind not in (bool, int, float, complex, str, bytes):
            return True
    return False


def _has_odd_constant(code: types.CodeType) -> bool:
    return any(_is_odd(value) for value in code.co_consts)


# --- functions ----------------------------------------------------------------------------------------------------------


def unwrapped(target: Any) -> Any:
    """The function or code object behind what is a function in all but its type. Looks at no attribute that runs code."""
    for _ in range(100):
        if _core.is_compiled(target):
            target = _core.wrapped(target)
        elif isinstance(target, (staticmethod, classmethod, types.MethodType)):
            target = target.__func__
        elif isinstance(target, functools.partial):
            target = target.func
        elif isinstance(target, property) and target.fget is not None:
            target = target.fget
        elif isinstance(target, functools.cached_property):
            target = target.func
        elif isinstance(target, functools._lru_cache_wrapper):
            target = target.__wrapped__
        elif isinstance(target, types.GeneratorType):
            target = target.gi_code
        elif isinstance(target, types.CoroutineType):
            target = target.cr_code
        elif isinstance(target, types.AsyncGeneratorType):
            target = target.ag_code
        elif isinstance(target, types.TracebackType):
            target = target.tb_frame
        elif isinstance(target, types.FrameType):
            target = target.f_code
        else:
            break
    return target


_LARGEST_LITERAL = 1000  # items of a default or annotation, in and below it


def _is_literal(value: Any) -> bool:
    """Whether a text of moderate size gives `value` again. A frozenset has no literal."""
    todo = [value]
    seen = 0
    while todo:
        item = todo.pop()
        seen += 1
        if seen > _LARGEST_LITERAL:
            return False
        if type(item) is tuple:
            todo += item
        elif not (item is None or item is ... or type(item) in (bool, int, float, complex, str, bytes)):
            return False
    return True


def _fact(value: Any, placeholders: Placeholders) -> Any:
    return value if _is_literal(value) else placeholders.kept(value)


def _annotation(value: Any, placeholders: Placeholders) -> tuple[str, Any]:
    """A dotted name and nothing, or no name and the value."""
    if isinstance(value, type) and type(value) is type and value is not type(None):
        name = value.__qualname__ if value.__module__ == "builtins" else f"{value.__module__}.{value.__qualname__}"
        if all(part.isidentifier() for part in name.split(".")):
            return name, None
    return "", _fact(value, placeholders)


def _function_facts(function: types.FunctionType, placeholders: Placeholders) -> bytes:
    """Defaults and annotations, as the constants of a code object: (defaults, keyword names, keyword defaults, annotated names,
    dotted names, values)."""
    keywords = function.__kwdefaults__ or {}
    annotations = {name: _annotation(value, placeholders) for name, value in function.__annotations__.items()}
    constants = (
        tuple(_fact(value, placeholders) for value in function.__defaults__ or ()),
        tuple(keywords),
        tuple(_fact(value, placeholders) for value in keywords.values()),
        tuple(annotations),
        tuple(name for name, _ in annotations.values()),
        tuple(value for _, value in annotations.values()),
    )
    carrier = compile("0", "", "eval", 0, True)
    return marshal.dumps(carrier.replace(co_consts=constants))


# --- modules and files --------------------------------------------------------------------------------------------------


def _read(path: str) -> bytes:
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path}")
    if os.path.getsize(path) > _LARGEST:
        raise ValueError(f"{path} is larger than {_LARGEST >> 20} MB")
    with open(path, "rb") as file:
        return file.read()


def _compiled(source: bytes, path: str) -> CodeSource:
    try:
        code = compile(source, path, "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{path} does not compile: {error}") from error
    return CodeSource(marshal.dumps(code))


def from_file(path: str) -> CodeSource:
    """A .pyc file of any supported version, or a source file (compiled first, by the running interpreter)."""
    data = _read(path)
    # Magic numbers of .pyc files end in \r\n, which no source file has at that place unless it is a very odd one.
    if path.endswith((".pyc", ".pyo")) or (data[2:4] == b"\r\n" and not path.endswith(".py")):
        return CodeSource(data, is_pyc=True)
    return _compiled(data, path)


def _find_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Like importlib.util.find_spec, which imports the packages around a module."""
    path: Iterable[str] | None = None
    spec = None
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        full = ".".join(parts[:end])
        spec = importlib.machinery.PathFinder.find_spec(full, None if path is None else list(path))
        if spec is None and end == 1:
            spec = importlib.machinery.FrozenImporter.find_spec(full)
        if spec is None:
            return None
        path = spec.submodule_search_locations
        if path is None and end < len(parts):
            return None
    return spec


def from_module_name(name: str) -> CodeSource:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"{name!r} is neither a file nor the name of a module")
    spec = _find_spec(name)
    if spec is None:
        if name in sys.builtin_module_names:
            raise ValueError(f"module {name} is built into the interpreter: it has no bytecode")
        raise ValueError(f"there is no module {name}")
    if isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        raise ValueError(f"module {name} is an extension module: it has no bytecode")
    if spec.origin and os.path.isfile(spec.origin):
        return from_file(spec.origin)
    # Loaders of the standard library read code without running it; others are not asked.
    if spec.loader is importlib.machinery.FrozenImporter or type(spec.loader).__module__ == "zipimport":
        code = spec.loader.get_code(name)  # type: ignore[union-attr]
        if code is not None:
            return CodeSource(marshal.dumps(code))
    raise ValueError(f"module {name} has no code that can be read without importing it")


def _from_text(target: str) -> CodeSource:
    if os.path.exists(target) or ":" not in target:
        name, qualname = target, ""
    else:
        name, _, qualname = target.rpartition(":")
    is_file = os.path.exists(name) or name.endswith((".py", ".pyc")) or os.sep in name
    source = from_file(name) if is_file else from_module_name(name)
    source.select = qualname
    return source


def find_code(target: Any, facts: bool = True) -> CodeSource:
    """TypeError: there is no bytecode behind it. ValueError, OSError: there is none to be had.

    facts  of a function: its defaults and annotations as well
    """
    if isinstance(target, str):
        return _from_text(target)
    if isinstance(target, os.PathLike):
        return from_file(os.fspath(target))
    if isinstance(target, (bytes, bytearray)):
        return CodeSource(bytes(target), is_pyc=True)
    if isinstance(target, types.ModuleType):
        return _from_module(target)
    target = unwrapped(target)
    placeholders = Placeholders()
    if isinstance(target, types.FunctionType):
        data = placeholders.marshalled(target.__code__)
        signature = _function_facts(target, placeholders) if facts else None
        return CodeSource(data, facts=signature, objects=placeholders.objects)
    if isinstance(target, types.CodeType):
        return CodeSource(placeholders.marshalled(target), objects=placeholders.objects)
    if isinstance(target, type):
        return _from_class(target)
    raise TypeError(
        f"{type(target).__name__} has no bytecode; decompile takes functions, code objects, modules and files"
    )


def _from_class(target: type) -> CodeSource:
    module = sys.modules.get(target.__module__)
    if module is None or "<locals>" in target.__qualname__:
        raise TypeError(f"the body of class {target.__qualname__} is gone once it has run; decompile its methods")
    source = _from_module(module)
    source.select = target.__qualname__
    return source


def _from_module(module: types.ModuleType) -> CodeSource:
    file = inspect.getattr_static(module, "__file__", None)
    if isinstance(file, str) and file.endswith((".py", ".pyc")) and os.path.isfile(file):
        return from_file(file)
    name = inspect.getattr_static(module, "__name__", None)
    if not isinstance(name, str):
        raise TypeError("the module has no name")
    return from_module_name(name)
