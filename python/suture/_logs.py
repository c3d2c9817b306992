"""Logs: events rendered by the toolbox, delivered through Python's `logging`.

Loggers form the tree `suture.<component>[.<artifact>]`. The root logger is never touched. A handler on stderr (and on the
file SUTURE_LOGS_OUT) is attached only when logs were asked for, through SUTURE_LOGS or `set_logs`; otherwise records go
wherever the program's own logging sends them. Records carry `compile_id`, `artifact`, `event` and `fields`.
"""

from __future__ import annotations

import json
import logging
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


def set_logs(settings: str | None = None, **switches: bool | int | str | None) -> None:
    """Switches logs on and off: `set_logs("graph_breaks,+capture,-guards")`, the syntax of SUTURE_LOGS, or keywords.

    Keywords: an artifact takes a bool; a component takes a level (logging.DEBUG, "debug", ...). Replaces earlier
    settings; `set_logs("")` switches everything off.
    """
    items = [settings] if settings else []
    items += [_switch(name, value) for name, value in switches.items() if value is not None]
    text = ",".join(items)
    configure(text)
    _core.set_option("logs", text)


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


def configure(text: str, handler: bool = True) -> None:
    """Makes `text` the current setting. `handler`: also write to stderr, as long as anything is on."""
    global _renderer, _token
    settings = _toolbox.parse_logs(text)
    if settings.help:
        sys.stderr.write(settings.help)
    stop()
    _startup.stop_listening()
    _set_levels(settings)
    if handler and text:
        _attach_handlers()
    _renderer = _toolbox.LogRenderer(settings, source_line)
    _token = _core.subscribe(sorted({*settings.events, *_core.shown_events()}), deliver)
    _finish_at_exit()


def stop() -> None:
    """Disconnects from the compiler; handlers and levels are put back."""
    global _renderer, _token
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


class _StderrHandler(logging.StreamHandler):
    """Writes to what sys.stderr is now, and keeps quiet when the program's own root logger writes there already."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass

    def filter(self, record: logging.LogRecord) -> Any:
        root = logging.getLogger()
        doubled = any(getattr(handler, "stream", None) is sys.stderr for handler in root.handlers)
        return False if doubled and _root.propagate else super().filter(record)


class _PrefixFormatter(logging.Formatter):
    """`[0/1] graph_breaks: text`. Only the first line has the prefix, so that code in a record can be copied."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        name = getattr(record, "artifact", "") or record.name.removeprefix("suture.")
        compile_id = getattr(record, "compile_id", "")
        mark = f"{record.levelname}: " if record.levelno >= logging.WARNING else ""
        return f"[{compile_id or '-'}] {name}: {mark}{text}"


def _formatter() -> logging.Formatter:
    chosen = config.logs_format
    if chosen == "compact":
        return logging.Formatter("%(message)s")
    if "%(" in chosen:
        return logging.Formatter(chosen)
    return _PrefixFormatter()


def _attach_handlers() -> None:
    handlers: list[logging.Handler] = [_StderrHandler()]
    if config.logs_out:
        try:
            handlers.append(logging.FileHandler(config.logs_out, encoding="utf-8", errors="backslashreplace"))
        except OSError as error:
            _startup.warn(f"SUTURE_LOGS_OUT: {error}; logs go to stderr only")
    for handler in handlers:
        handler.setFormatter(_formatter())
        _root.addHandler(handler)
        _handlers.append(handler)


def _finish_at_exit() -> None:
    """Collapsed repeats are counted at the end of the program."""
    global _finishing
    if _finishing:
        return
    _finishing = True
    import atexit

    atexit.register(stop)
