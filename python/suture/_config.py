"""suture.config: every option as an attribute.

    suture.config.recompile_limit = 4
    with suture.config.patch(fusion=False, strict=True): ...
    @suture.config.patch(automatic_dynamic=False)
    def test(): ...

The table lives in the compiler (options.def); types, defaults, environment variables and texts come from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from typing import Any, NamedTuple

from suture import _core


class Option(NamedTuple):
    name: str
    type: str
    default: Any
    env: str
    allowed: str  # in words; "": every value of the type
    doc: str
    scope: str  # function | process | output


def _parse_bool(text: str) -> bool:
    return text in ("True", "true", "1")


_PARSERS: dict[str, Callable[[str], Any]] = {"bool": _parse_bool, "int": int, "str": str}
_TYPES: dict[str, type] = {"bool": bool, "int": int, "str": str}


def _to_text(option: Option, value: Any) -> str:
    """The text the compiler reads. Values of another type are refused here: 'False' must not become True."""
    if not isinstance(value, _TYPES[option.type]) or (option.type != "bool" and isinstance(value, bool)):
        article = "an" if option.type == "int" else "a"
        raise TypeError(f"option '{option.name}' is {article} {option.type}, not {type(value).__name__}: {value!r:.80}")
    if isinstance(value, str) and not is_text(value):
        raise ValueError(f"option '{option.name}' cannot be {value!r:.80}: it holds characters that no text has")
    return str(value)


def is_text(value: str) -> bool:
    """False: it holds halves of surrogate pairs, as a command line or a file name that is no UTF-8 does."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Patch(ContextDecorator):
    """Sets options and puts the old values back. Can be entered again, and nested."""

    def __init__(self, config: Config, values: dict[str, Any]) -> None:
        self._config, self._values = config, values
        self._saved: list[dict[str, Any]] = []

    def __enter__(self) -> Config:
        # All values are checked before the first is set, so that a bad one changes nothing.
        for name, value in self._values.items():
            _to_text(self._config._option(name), value)
        saved: dict[str, Any] = {}
        try:
            for name, value in self._values.items():
                saved[name] = getattr(self._config, name)
                setattr(self._config, name, value)
        except BaseException:
            self._restore(saved)
            raise
        self._saved.append(saved)
        return self._config

    def __exit__(self, *exc: object) -> None:
        self._restore(self._saved.pop())

    def _restore(self, saved: dict[str, Any]) -> None:
        for name, value in reversed(saved.items()):
            setattr(self._config, name, value)


class Config:
    """The option table with its current values."""

    __slots__ = ("_options",)
    _options: dict[str, Option] | None

    def __init__(self) -> None:
        object.__setattr__(self, "_options", None)

    def _table(self) -> dict[str, Option]:
        if self._options is None:
            table = {
                name: Option(name, kind, _PARSERS[kind](default), env, allowed, doc, scope)
                for name, kind, default, env, allowed, doc, scope in _core.option_table()
            }
            object.__setattr__(self, "_options", table)
        assert self._options is not None
        return self._options

    def _option(self, name: str) -> Option:
        option = self._table().get(name)
        if option is None:
            raise AttributeError(self._unknown(name))
        return option

    def _unknown(self, name: str) -> str:
        return f"no option is named '{name}'{_core.did_you_mean(name, list(self._table()))}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        option = self._option(name)
        return _PARSERS[option.type](_core.get_option(name))

    def __setattr__(self, name: str, value: Any) -> None:
        option = self._option(name)
        text = _to_text(option, value)
        before = _core.get_option(name)
        _core.set_option(name, text)
        try:
            self._apply(name, text)
        except BaseException:
            _core.set_option(name, before)
            raise

    def _apply(self, name: str, text: str) -> None:
        """Some options have a listener outside the compiler, or names that only this package knows."""
        if name == "backend" and text != "native":
            from suture import _backends

            _backends.resolve(text)
        elif name == "overrides":
            self.overriding(text)
        elif name == "logs":
            from suture import _logs

            _logs.configure(text)
        elif name in ("logs_out", "logs_format"):
            from suture import _logs

            _logs.reconfigure()
        elif name == "trace":
            from suture import _trace

            _trace.start(text)
        elif name in ("compile_debug", "compile_debug_dir"):
            from suture import _dump

            if self.compile_debug:
                _dump.start()
            else:
                _dump.stop()

    def patch(self, **values: Any) -> _Patch:
        """Context manager and decorator: options for a while."""
        for name in values:
            self._option(name)
        return _Patch(self, values)

    def options(self) -> list[Option]:
        """All rows of the table."""
        return list(self._table().values())

    def texts(self, values: dict[str, Any] | None) -> dict[str, str] | None:
        """Options for one function as the compiler takes them. Errors as for setting them."""
        if not values:
            return None
        for name in values:
            if name not in self._table():
                raise ValueError(self._unknown(str(name)))
        return {name: _to_text(self._table()[name], value) for name, value in values.items()}

    def overriding(self, text: str) -> dict[str, str]:
        """What the option `overrides` says, as texts by name. ValueError."""
        found = {}
        for pair in filter(None, text.split(";")):
            name, equals, value = pair.partition("=")
            option = self._table().get(name)
            if option is None:
                raise ValueError(f"overrides: {self._unknown(name)}")
            if not equals:
                raise ValueError(f"overrides: '{pair}' is no name=value")
            if name not in ("backend", "numerics") and option.scope != "function":
                raise ValueError(
                    f"overrides: '{name}' is an option of the process, and functions have none of their own"
                )
            found[name] = _core.check_option(name, value)
        return found

    def values(self, texts: dict[str, str] | None) -> dict[str, Any] | None:
        """The inverse of `texts`."""
        return texts and {name: _PARSERS[self._table()[name].type](text) for name, text in texts.items()}

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._table()}

    def __dir__(self) -> list[str]:
        return [*self._table(), "options", "patch", "texts", "to_dict", "values"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __repr__(self) -> str:
        return "\n".join(f"{name} = {value!r}" for name, value in self.to_dict().items())


config = Config()
