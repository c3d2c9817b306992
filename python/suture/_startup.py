"""What happens at import: exceptions are registered, and the listeners that the environment asks for are connected."""

from __future__ import annotations

from typing import Any

from suture import _core
from suture._config import config
from suture._errors import GraphBreak, InternalError

_token: int | None = None


def start() -> None:
    _core.register_exceptions(GraphBreak, InternalError)
    _core.watch_failures(_watch_graph)
    for problem in [*_core.option_problems(), *_misspelt_variables(), *_unused_compiler(), *_lone_level()]:
        warn(problem)
    if config.logs:
        _start_logs(config.logs)
    else:
        _listen_quietly()
    if config.trace:
        from suture import _trace

        _trace.start(config.trace)
    if config.compile_debug:
        from suture import _dump

        _dump.start()


def _watch_graph(*about: Any) -> Any:
    from suture._minify import launcher

    return launcher.on_graph(*about)


def _misspelt_variables() -> list[str]:
    """About environment variables that are one of ours but for a slip. Others with our prefix may belong to other tools."""
    import os

    ours = [name for name in os.environ if name.startswith("SUTURE_")]
    known = {option[3] for option in _core.option_table()} if ours else set()
    unknown = [name for name in ours if name not in known]
    if not unknown:
        return []
    words = [name.removeprefix("SUTURE_") for name in known]
    found = ((name, _core.nearest_name(name.removeprefix("SUTURE_"), words)) for name in unknown)
    return [f"{name} is not known and does nothing; did you mean SUTURE_{near}?" for name, near in found if near]


def _unused_compiler() -> list[str]:
    """`compiler` is for the subprocess toolchain, which `auto` uses only when clang's library is not here."""
    if not config.compiler or config.toolchain == "subprocess":
        return []
    import os

    if config.toolchain == "auto" and not os.path.exists(_core.plugin_path()):
        return []
    return [
        f"SUTURE_COMPILER={config.compiler} is not used: SUTURE_TOOLCHAIN is '{config.toolchain}', and kernels are "
        "compiled by clang in this process; set SUTURE_TOOLCHAIN=subprocess to use it"
    ]


def _lone_level() -> list[str]:
    """SUTURE_REPRO_LEVEL without SUTURE_REPRO_AFTER."""
    import os

    level = os.environ.get("SUTURE_REPRO_LEVEL", "")
    if not level or config.repro_after:
        return []
    return [
        f"SUTURE_REPRO_LEVEL={level} does nothing without SUTURE_REPRO_AFTER=capture (or lowering), which says what is looked at, "
        "unless the program sets the option repro_after itself"
    ]


def warn(message: str) -> None:
    """A RuntimeWarning at the line of the program that led here. It never becomes an exception: under -W error it is a line on
    stderr."""
    import sys

    file, line, module = _line_of_program()
    try:
        warn_at(f"suture: {message}", RuntimeWarning, file, line, module)
    except Exception:
        try:
            sys.stderr.write(f"RuntimeWarning: suture: {message}\n")
        except Exception:
            return


def warn_at(
    message: str | Warning,
    category: type[Warning],
    file: str,
    line: int,
    module: dict[str, Any] | None = None,
    source: Any = None,
) -> None:
    """A warning of this line, as if its code gave it: filters such as "once per location" work on the registry and the name of its
    module. module: the globals of the line; None: those of the module that has this file."""
    import warnings

    from suture._replay import globals_of_file

    found = globals_of_file(file) if module is None else module
    registry = {} if found is None else found.setdefault("__warningregistry__", {})
    name = (found or {}).get("__name__") or file or "<unknown>"  # with None nothing would be given
    warnings.warn_explicit(message, category, file, line, name, registry, source=source)


def _line_of_program() -> tuple[str, int, dict[str, Any]]:
    """Of the innermost frame that is neither ours nor an import; of module sys, as everywhere in Python, when there is none."""
    import os
    import sys

    own = os.path.dirname(__file__) + os.sep
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((own, "<frozen ")):
            return file, frame.f_lineno, frame.f_globals
        frame = frame.f_back  # type: ignore[assignment]
    return "sys", 1, vars(sys)


def _start_logs(text: str) -> None:
    from suture import _logs

    try:
        _logs.configure(text)
    except ValueError as error:
        # A typing error in an environment variable must not stop the program.
        warn(f"SUTURE_LOGS: {error}")
        _listen_quietly()


def _listen_quietly() -> None:
    """`logging` is imported only when there is something to say; it comes as warnings of the logger `suture`."""
    global _token
    _token = _core.subscribe(_core.shown_events(), _first_event)


def _first_event(line: str) -> None:
    from suture import _logs

    _logs.configure("", handler=False)
    _logs.deliver(line)


def stop_listening() -> None:
    """Called by _logs when it takes over."""
    global _token
    if _token is not None:
        _core.unsubscribe(_token)
        _token = None
