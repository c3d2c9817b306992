"""What happens at import: exceptions are registered, and the listeners that the environment asks for are connected."""

from __future__ import annotations

from suture import _core
from suture._config import config
from suture._errors import GraphBreak, InternalError

_token: int | None = None


def start() -> None:
    _core.register_exceptions(GraphBreak, InternalError)
    for problem in _core.option_problems():
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


def warn(message: str) -> None:
    """A RuntimeWarning that never becomes an exception: under -W error it is a line on stderr."""
    import sys
    import warnings

    try:
        warnings.warn(f"suture: {message}", RuntimeWarning, stacklevel=2)
    except Exception:
        try:
            sys.stderr.write(f"RuntimeWarning: suture: {message}\n")
        except Exception:
            return


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
