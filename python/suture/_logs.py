"""Logs: events rendered by the toolbox, delivered through Python's `logging`.

Loggers form the tree `suture.<component>[.<artifact>]`. The root logger is never touched. A handler on stderr (or on the
file SUTURE_LOGS_OUT, or on both) is attached only when logs were asked for, through SUTURE_LOGS or `set_logs`; otherwise
records go wherever the program's own logging sends them. Records carry `compile_id`, `artifact`, `event` and `fields`.

Nothing here can hurt the program: a stream or a file that does not take the text costs one warning, then it is left alone.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

from suture import _core, _startup, _toolbox
from suture._config import config
from suture._events import source_line

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_root = logging.getLogger("suture")
_renderer: _toolbox.LogRenderer | None = None
_token: int | None = None
_handlers: list[logging.Handler] = []
_touched: list[logging.Logger] = []
_finishing = False
_profiling = False


class _Restore:
    """What set_logs returns: `with suture.set_logs("graph_breaks"): ...` puts the former settings back at the end."""

    def __init__(self, before: str, now: str) -> None:
        self._before, self._now = before, now

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        configure(self._before, show_help=False)
        _core.set_option("logs", self._before)

    def __repr__(self) -> str:
        return f"<suture logs {self._now!r}>"


def set_logs(settings: str | None = None, **switches: bool | int | str | None) -> _Restore:
    """Switches logs on and off: `set_logs("graph_breaks,+capture,-guards")`, the syntax of SUTURE_LOGS, or keywords.

    Keywords: an artifact takes a bool; a component takes a level (logging.DEBUG, "debug", ...). Replaces earlier
    settings; `set_logs("")` switches everything off. Can be called at any time, and used as a context manager, which
    puts the former settings back. Filters go into the text: `set_logs("graph_breaks,@function=f*,@file=*/model.py,@id=0/1")`.
    """
    items = [settings] if settings else []
    items += [_switch(name, value) for name, value in switches.items() if value is not None]
    text = ",".join(items)
    before = config.logs
    configure(text)
    _core.set_option("logs", text)
    return _Restore(before, text)


def _switch(name: str, value: bool | int | str) -> str:
    if value is True:
        return name
    if value is False:
        return "-" + name
    level = _LEVELS.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(level, int):
        raise ValueError(f"{name}={value!r}: expected a bool or a level ({', '.join(_LEVELS)})")
    sign = "+" if level <= logging.DEBUG else "" if level <= logging.INFO else "-"
    return sign + name


def configure(text: str, *, handler: bool = True, show_help: bool = True) -> None:
    """Makes `text` the current setting. `handler`: also write to stderr or a file, as long as anything is on. `show_help`:
    print what the name `help` asks for."""
    global _renderer, _token, _profiling
    settings = _toolbox.parse_logs(text)
    if settings.help and show_help:
        try:
            _write_stream(sys.stderr, settings.help)
        except Exception as error:
            _startup.warn(f"logs: stderr: {error}; the help is not shown")
    stop()
    _startup.stop_listening()
    _set_levels(settings)
    if handler and text:
        _attach_handlers()
    _renderer = _toolbox.LogRenderer(settings, source_line)
    if "perf_hints" in settings.artifacts:
        _core.profile(True)  # hints have measured costs where somebody reads them
        _profiling = True
    _token = _core.subscribe(sorted({*settings.events, *_core.shown_events()}), deliver)
    _finish_at_exit()


def reconfigure() -> None:
    """logs_out or logs_format changed: the handlers are made anew."""
    if _handlers:
        configure(config.logs, show_help=False)


def stop() -> None:
    """Disconnects from the compiler; handlers and levels are put back."""
    global _renderer, _token, _profiling
    if _profiling:
        _core.profile(False)
        _profiling = False
    if _token is not None:
        _core.unsubscribe(_token)
        _token = None
    if _renderer is not None:
        _emit_all(_renderer.finish(), "")
        _renderer = None
    for logger in _touched:
        logger.setLevel(logging.NOTSET)
    _touched.clear()
    for handler in _handlers:
        _root.removeHandler(handler)
        handler.close()
    _handlers.clear()


def deliver(line: str) -> None:
    """One event: rendered and handed to logging."""
    if _renderer is not None:
        _emit_all(_renderer.render(line), line)


def _emit_all(lines: list[_toolbox.LogLine], event: str) -> None:
    for line in lines:
        logger = logging.getLogger(line.logger)
        level = _LEVELS[line.level]
        if not logger.isEnabledFor(level):
            continue
        decoded: dict[str, Any] = json.loads(event) if event else {}
        record = logger.makeRecord(
            line.logger,
            level,
            line.file or "suture",
            line.line,
            line.text,
            (),
            None,
            line.function,
            {
                "compile_id": line.compile_id,
                "artifact": line.artifact,
                "event": decoded.get("event", ""),
                "fields": decoded.get("fields", {}),
            },
        )
        logger.handle(record)


def _set_levels(settings: _toolbox.LogSettings) -> None:
    for component, _ in _toolbox.component_table():
        level = settings.level(component)
        if level != "warning":
            _set_level(f"suture.{component}", _LEVELS[level])
    on = set(settings.artifacts)
    for name, component, _, _ in _toolbox.artifact_table():
        if name in on:
            _set_level(f"suture.{component}.{name}", logging.INFO)


def _set_level(name: str, level: int) -> None:
    logger = logging.getLogger(name)
    logger.setLevel(level)
    _touched.append(logger)


class _Handler(logging.Handler):
    """Delivery that fails once is given up with one warning."""

    name_of_target = "stderr"
    _failed = False

    def write(self, text: str) -> None:
        raise NotImplementedError

    def emit(self, record: logging.LogRecord) -> None:
        if self._failed:
            return
        try:
            self.write(self.format(record) + "\n")
        except Exception as error:
            self._failed = True
            _startup.warn(f"logs: {self.name_of_target}: {error}; no more logs are written there")


class _StderrHandler(_Handler):
    """Writes to what sys.stderr is now, and keeps quiet when the program's own root logger writes there already."""

    def write(self, text: str) -> None:
        if sys.stderr is not None:
            _write_stream(sys.stderr, text)

    def filter(self, record: logging.LogRecord) -> Any:
        root = logging.getLogger()
        doubled = any(getattr(handler, "stream", None) is sys.stderr for handler in root.handlers)
        return False if doubled and _root.propagate else super().filter(record)


class _FileHandler(_Handler):
    """Appends whole records, unbuffered: processes that write one file, forks and crashes leave complete records."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.name_of_target = f"SUTURE_LOGS_OUT={path}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(os.path.expanduser(path), flags, 0o666)

    def write(self, text: str) -> None:
        _write_all(self._file, text.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        super().close()


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _write_stream(stream: Any, text: str) -> None:
    """Text into a stream. Python's own stderr is written past its buffer: what a broken pipe leaves in there would turn
    the exit code of the program into 120."""
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    data = text.encode(encoding, "backslashreplace")
    stderr = sys.__stderr__
    if stderr is not None and stream is stderr:
        descriptor = stderr.fileno()
        stderr.flush()
        _write_all(descriptor, data)
    else:
        stream.write(data.decode(encoding))
        stream.flush()


class _PrefixFormatter(logging.Formatter):
    """`[0/1] graph_breaks: text`. Only the first line has the prefix, so that code in a record can be copied."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        name = getattr(record, "artifact", "") or record.name.removeprefix("suture.")
        compile_id = getattr(record, "compile_id", "")
        mark = f"{record.levelname}: " if record.levelno >= logging.WARNING else ""
        return f"[{compile_id or '-'}] {name}: {mark}{text}"


class _FullFormatter(_PrefixFormatter):
    """`2030-01-31 12:00:00,123 INFO 4711 prog.py:21 [0/1] graph_breaks: text`."""

    def format(self, record: logging.LogRecord) -> str:
        place = f"{os.path.basename(record.pathname)}:{record.lineno}"
        head = f"{self.formatTime(record)} {record.levelname} {record.process}"
        return f"{head} {_toolbox.escape_line(place)} {super().format(record)}"


def _formatter() -> logging.Formatter:
    chosen = config.logs_format
    if chosen == "compact":
        return logging.Formatter("%(message)s")
    if chosen == "full":
        return _FullFormatter()
    if "%(" in chosen:
        # Program records have no compile id; ours always do.
        return logging.Formatter(chosen, validate=False)
    return _PrefixFormatter()


def _attach_handlers() -> None:
    handlers: list[logging.Handler] = []
    path = config.logs_out
    if path:
        try:
            handlers.append(_FileHandler(path.removeprefix("+")))
        except (OSError, ValueError) as error:
            _startup.warn(f"SUTURE_LOGS_OUT: {error}; logs go to stderr only")
    if not handlers or path.startswith("+"):
        handlers.append(_StderrHandler())
    for handler in handlers:
        handler.setFormatter(_formatter())
        _root.addHandler(handler)
        _handlers.append(handler)


def _finish_at_exit() -> None:
    """Collapsed repeats are counted at the end of the program; in a forked child its parent's are not its own."""
    global _finishing
    if _finishing:
        return
    _finishing = True
    import atexit

    atexit.register(stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget_repeats)


def _forget_repeats() -> None:
    if _renderer is not None:
        _renderer.finish()
