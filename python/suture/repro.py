"""What minifier_launcher.py and repro.py call. They are files of literals; everything that happens is here.

    if __name__ == "__main__":
        raise SystemExit(main(__file__, forward, make_backend))

Modes (the first word after the file; docs/minify.md)
    run       compile and call the graph once, in a child process, and say whether it failed as expected
    query     the same; prints the verdict only
    minify    reduce the graph as long as it fails in the same way; writes repro.py
    explain   say what the file holds; nothing of it is run, not even its backend is made
Exit codes of run and query: 1 REPRODUCED, 0 NOT REPRODUCED, 77 CANNOT RUN HERE. Of the others: 0, or 77 when they cannot run
here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suture._minify.repro_file import ReproFile

REPRODUCED, NOT_REPRODUCED, CANNOT_RUN = 1, 0, 77
TIME_LIMIT = 60.0  # seconds for one run; longer is a hang

MODES = {
    "run": "run the graph once and say whether it fails as expected",
    "query": "the same, for other programs: prints the verdict only",
    "minify": "reduce the graph as long as it fails in the same way",
    "explain": "say what the file holds, without running any of it",
}


def main(
    file: str,
    forward: Callable[..., Any],
    make_backend: Callable[[], Any] | None = None,
    *,
    default: str = "run",
    argv: Sequence[str] | None = None,
) -> int:
    """Runs the mode that the command line names on the file itself; the exit code.

    file          the repro file
    forward       its graph under NumPy
    make_backend  makes the backend, for one that is known by no name
    default       the mode when none is named
    """
    arguments = _parser(file, default).parse_args(argv)
    sys.argv = [file]  # what the user's code finds
    return run_mode(arguments.mode, Path(file), make_backend, arguments.time_limit)


def _parser(file: str, default: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=Path(file).name,
        description="A graph that failed, and its inputs.",
        epilog="\n".join(f"{name:8} {text}" for name, text in MODES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("mode", nargs="?", choices=list(MODES), default=default, metavar="MODE", help=", ".join(MODES))
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS", help="of one run; longer is a hang"
    )
    return parser


def run_mode(mode: str, path: Path, make_backend: Callable[[], Any] | None, time_limit: float) -> int:
    """The same for a file that was read, not run."""
    from suture._minify import repro_file

    try:
        repro = repro_file.load(path)
        if mode == "explain":
            print(_explained(repro))
            return 0
        _install_backend(repro, make_backend)
    except Exception as error:  # of the user's backend, too
        return _cannot_run(f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error))
    return _run(repro, time_limit, quiet=mode == "query")


def _cannot_run(why: str) -> int:
    print(f"CANNOT RUN HERE: {' '.join(why.split())}")
    return CANNOT_RUN


def _install_backend(repro: ReproFile, make_backend: Callable[[], Any] | None) -> None:
    """Makes the backend known under the name that the case has."""
    from suture import _backends

    name = repro.case.backend
    if make_backend is not None:
        _backends.register_backend(name, make_backend())
    elif name != "native":
        _backends.resolve(name)


def _run(repro: ReproFile, time_limit: float, quiet: bool) -> int:
    from suture._minify.alone import observe
    from suture._minify.signature import Signature

    expected = Signature.from_dict(repro.expected) if repro.expected else None
    if not quiet:
        print(_explained(repro), flush=True)
    outcome = observe(repro.case, time_limit)
    if outcome.kind == "invalid":
        return _cannot_run(outcome.message)
    if not outcome.failed:
        print("NOT REPRODUCED: it compiles, and its results are NumPy's")
        return NOT_REPRODUCED
    if expected is not None and Signature.of(outcome) != expected:
        print(f"NOT REPRODUCED: it fails in another way: {outcome}")
        return NOT_REPRODUCED
    print(f"REPRODUCED: {outcome}")
    return REPRODUCED


def _explained(repro: ReproFile) -> str:
    from suture._minify.case import signature_of_inputs
    from suture._minify.signature import Signature

    case, origin = repro.case, repro.origin
    inputs = zip(repro.names, signature_of_inputs(case.inputs), strict=True)
    lines = [
        repro.title,
        f"from      {origin.get('function', '?')} ({origin.get('file', '?')}:{origin.get('line', 0)})",
        f"backend   {case.backend}{' (its source is in the file)' if repro.backend_code else ''}",
        *([f"options   {dict(case.options)}"] if case.options else []),
        f"graph     {case.op_count} ops",
        *(f"input     {name}: {text}" for name, text in inputs),
        *(
            f"note      the elements of {name} were too many to keep; some in the same range stand for them"
            for name in repro.generated
        ),
        f"expected  {Signature.from_dict(repro.expected) if repro.expected else 'not known: the process ended without a word'}",
    ]
    return "\n".join(lines)
