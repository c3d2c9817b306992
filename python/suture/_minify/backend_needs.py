"""What make_backend() of a repro file needs beside the file: the backend itself, modules that lie beside the program, packages.

The code is read by its syntax tree, and so are the modules that it imports, and theirs in turn: nothing is run. A module is looked
for where the code looks for it (the directories that it puts into sys.path), beside the file, then where this process does.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import sys
import tokenize
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from suture import _backends
from suture._minify import backend_code

_ALWAYS_THERE = sys.stdlib_module_names | {"numpy", "suture"}
_MOST_FILES, _MOST_ENTRIES, _LARGEST = 200, 5000, 1 << 20  # what is looked into for imports


class Needs(NamedTuple):
    """
    missing_source  why the backend has to be written into make_backend() first; "" when it is there
    is_imported     the code only imports the backend
    along           (module, its file or directory) of those that belong to no installed package
    packages        that have to be installed
    unknown         modules that are not found here
    """

    missing_source: str = ""
    is_imported: bool = False
    along: tuple[tuple[str, str], ...] = ()
    packages: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Where the backend's source is, behind its name; not for one that is not written yet."""
        names = [f"{name} ({place})" for name, place in self.along]
        names += [f"{name}, which is not found here" for name in self.unknown]
        if self.is_imported and not names:
            return f"imported from {', '.join(self.packages)}: install it"
        first, *rest = names or ("",)
        if self.is_imported:
            source = f"imported from {first}" + (f", with {', '.join(rest)}" if rest else "")
        else:
            source = "its source is in the file" + (f", which imports {', '.join(names)}" if names else "")
        them = "it" if len(names) == 1 else "them"
        do = f": send {them} along" if self.along else f": put {them} beside the file" if names else ""
        install = f"; install {', '.join(self.packages)}" if self.packages else ""
        return f"{source}{do}{install}"

    @property
    def is_in_the_file(self) -> bool:
        return not (self.missing_source or self.is_imported or self.along or self.packages or self.unknown)


def needs_of(name: str, code: str, beside: Path | None = None) -> Needs:
    """`code`: of make_backend(), or its body; "" for a backend that is known by its name. `beside`: the file's directory."""
    if not code:
        package = _backends.package_of(name)
        return Needs() if package is None else Needs(is_imported=True, packages=(package,))
    if reason := backend_code.missing_source(code):
        return Needs(missing_source=reason)
    nodes = list(ast.walk(ast.parse(code)))
    # One function is make_backend itself.
    defined = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.Lambda))]
    own = [n for n in defined if not (isinstance(n, ast.FunctionDef) and n.name == "make_backend")]
    roots = [*_roots_added(nodes), *([str(beside)] if beside else []), *sys.path]
    along, packages, unknown = _followed(backend_code.modules_imported(nodes), roots)
    imported = not own and bool(along or packages or unknown)
    return Needs("", imported, tuple(along.items()), tuple(packages), tuple(unknown))


def _roots_added(nodes: Iterable[ast.AST]) -> list[str]:
    """Of `sys.path.insert(0, "DIRECTORY")` and `sys.path.append("DIRECTORY")`."""
    found: list[str] = []
    for node in nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="sys"), attr="path"), attr="insert" | "append"
                ),
                args=[*_, ast.Constant(value=str(root))],
            ):
                found.append(root)
    return found


def _followed(modules: list[str], roots: list[str]) -> tuple[dict[str, str], list[str], list[str]]:
    """Modules with their places, packages that are installed, what is not found."""
    along: dict[str, str] = {}
    packages: list[str] = []
    unknown: list[str] = []
    waiting, seen, files = list(modules), set(_ALWAYS_THERE), 0
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        place = _place_of(name, roots)
        if place is None:
            # What a module that is found imports may be optional; what the code itself imports is not.
            unknown += [name] if name in modules else []
        elif backend_code.is_installed_file(place):
            packages += [name] if name in modules else []
        else:
            along[name] = place
            for file in _files_of(place)[: _MOST_FILES - files]:
                files += 1
                waiting += _imports_of(file)
    return along, packages, unknown


def _place_of(module: str, roots: list[str]) -> str | None:
    """The file of a module, the directory of a package; nothing of it is imported."""
    try:
        spec = importlib.machinery.PathFinder.find_spec(module, roots) or importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return os.path.abspath(next(iter(spec.submodule_search_locations))) + os.sep
    return os.path.abspath(spec.origin) if spec.origin else None


def _files_of(place: str) -> list[Path]:
    """What there is to read of it, of a size that programs have. A file from elsewhere may name any directory as a package."""
    found = Path(place)
    try:
        entries = islice(found.rglob("*"), _MOST_ENTRIES) if found.is_dir() else [found]
        return sorted(
            each for each in entries if each.suffix == ".py" and each.is_file() and each.stat().st_size < _LARGEST
        )
    except OSError:  # it went away, or may not be read
        return []


def _imports_of(file: Path) -> list[str]:
    try:
        with tokenize.open(file) as opened:
            return backend_code.modules_imported(ast.walk(ast.parse(opened.read())))
    except (OSError, SyntaxError, ValueError, RecursionError):  # an extension module, another Python's syntax
        return []
