"""Dataclasses whose methods are compiled when they are first called, each by itself, and not with the class.

The standard library writes the methods of each dataclass as text and compiles it: four fifths of what such a
class costs, and what hark and mitmproxy import has some two hundred and fifty, most of them for nothing in
one run. Always: the text is the standard library's, compiled by it, and put where it would have put it; only
later. Which methods there are, fields, slots, hashes and every refusal are settled at once, by it alone. A
Python that makes dataclasses in another way (3.12) is left as it is.

The constructor of a named tuple is one line that the standard library compiles for each, half of what such a
class costs. It differs from another of as many fields by their names alone: it is compiled once for each
number of fields, and copied with the names of each.

The module that tells dataclasses the annotations of their classes (`inspect`) takes as long to load as all of
them: it is loaded by whoever asks it for more.

The regular expressions that a module of ours names, a hundred and twenty in a run, are compiled when they are
first used: most of them are not. The functions of `re` that take a compiled one do not take these.

Not done here: docstrings made up from a signature, for classes that have none. Nobody reads them.
"""

import collections
import copy
import re
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final

from hark import faces


def _annotations(asked: Any, **more: Any) -> dict[str, Any]:
    """Stand in for `inspect.get_annotations`: of a class it needs nothing else of its module."""
    if isinstance(asked, type) and not more:
        return dict(vars(asked).get("__annotations__", {}))
    return dict(faces.whole("inspect").get_annotations(asked, **more))


def _is_coroutine(asked: Any) -> bool:
    """Stand in for `inspect.iscoroutinefunction`: plain functions are asked themselves."""
    if type(asked) is FunctionType and not vars(asked):
        return bool(asked.__code__.co_flags & CO_COROUTINE)
    return bool(faces.whole("inspect").iscoroutinefunction(asked))


CO_COROUTINE: Final = 0x80  # as `inspect` has it
if sys.version_info[:2] == (3, 13):  # others do it in another way
    faces.show("inspect", {"get_annotations": _annotations, "iscoroutinefunction": _is_coroutine})

import dataclasses  # noqa: E402  # which asks it for the annotations of each class, and for nothing else

_BUILDER: Final[Any] = getattr(dataclasses, "_FuncBuilder", None)
_METHOD: Final = "add_fns_to_class"
_AT_ONCE: Final[Callable[[Any, type], None] | None] = getattr(_BUILDER, _METHOD, None)
"""The standard library's: compiles what a builder has the text of, and gives the class the methods."""

_COMPILE: Final[Any] = re.compile
_OURS: Final = frozenset(("hark", "launcher", "mediator"))
_OFFERED: Final = (
    "findall",
    "finditer",
    "fullmatch",
    "match",
    "search",
    "split",
    "sub",
    "subn",
    "pattern",
    "flags",
)

type _Method = Callable[..., Any]


def install() -> None:
    """Have every class of these kinds that is made in this process from now on made so. Idempotent."""
    if _AT_ONCE is not None:
        setattr(_BUILDER, _METHOD, _add_later)
    vars(collections)["eval"] = _evaluated  # which shadows the built-in one there, where one line calls it
    re.compile = _compile_later


def _compile_later(pattern: Any, flags: Any = 0) -> Any:
    """Stand in for `re.compile`: what a module of ours names is compiled when it is first used."""
    caller = sys._getframe(1)  # noqa: SLF001
    name = caller.f_globals.get("__name__", "")
    if caller.f_code.co_name != "<module>" or name.partition(".")[0] not in _OURS:
        return _COMPILE(pattern, flags)
    return Pattern(pattern, flags)


class Pattern:
    """An expression that is not compiled yet. From its first use on it has a compiled one's own methods."""

    def __init__(self, pattern: Any, flags: Any) -> None:
        self._asked = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = _COMPILE(*self._asked)
        vars(self).update({each: getattr(compiled, each) for each in _OFFERED})
        return getattr(compiled, name)


def _evaluated(text: str, namespace: dict[str, Any]) -> Any:
    """Stand in for `eval` where named tuples are made: any other text is evaluated."""
    arguments = text.removeprefix(_LAMBDA).partition(":")[0]
    if not arguments or text != _constructor(arguments):
        return eval(text, namespace)  # noqa: S307  (the standard library's own)
    names = arguments.removesuffix(",").split(", ")
    code = _of_as_many(len(names)).replace(co_varnames=("_cls", *names))
    return FunctionType(code, namespace)


_LAMBDA: Final = "lambda _cls, "


def _constructor(arguments: str) -> str:
    return f"{_LAMBDA}{arguments}: _tuple_new(_cls, ({arguments}))"


@cache
def _of_as_many(count: int) -> CodeType:
    arguments = ", ".join(f"a{number}" for number in range(count)) + ("," if count == 1 else "")
    made: FunctionType = eval(_constructor(arguments), {})  # noqa: S307  (of our own making)
    return made.__code__


def _add_later(builder: Any, cls: type) -> None:
    """Stand in for the standard library's method that compiles: what it would refuse, it refuses."""
    present = [name for name in builder.names if name in vars(cls)]
    if any(builder.overwrite_errors.get(name) for name in present):
        _compile(builder, cls)
        return
    for name, text in zip(builder.names, builder.src, strict=True):
        if name not in present or builder.unconditional_adds.get(name):
            setattr(cls, name, _deferred(builder, cls.__qualname__, name, text))
    if not cls.__doc__:
        cls.__doc__ = cls.__name__


def _deferred(builder: Any, called: str, name: str, text: str) -> _Method:
    """Return what stands in for a method, and gives its place to it when it is called.

    Two threads may both compile it; what they get is the same. A copy of the class with slots has it too.
    """
    made: _Method | None = None

    def later(self: object, /, *values: Any, **named: Any) -> Any:
        nonlocal made
        if made is None:
            made = _compiled(builder, called, name, text)
        for one in type(self).__mro__:
            if vars(one).get(name) is later:
                setattr(one, name, made)
        return made(self, *values, **named)

    later.__name__, later.__qualname__ = name, f"{called}.{name}"
    return later


def _compiled(builder: Any, called: str, name: str, text: str) -> _Method:
    alone = copy.copy(builder)
    alone.names, alone.src = [name], [text]
    scratch = type(called, (), {"__qualname__": called})
    _compile(alone, scratch)
    method: _Method = vars(scratch)[name]
    return method


def _compile(builder: Any, cls: type) -> None:
    if _AT_ONCE is not None:  # as wherever this is called
        _AT_ONCE(builder, cls)
