"""Dataclasses whose methods are compiled when the first of them is called, and not when the class is made.

The standard library writes the methods of each dataclass as text and compiles it: four fifths of what such a
class costs, and what hark and mitmproxy import has some two hundred and fifty, most of them for nothing in
one run. Always: the text is the standard library's, compiled by it, and put where it would have put it; only
later. Which methods there are, fields, slots, hashes and every refusal are settled at once, by it alone. A
Python that makes dataclasses in another way (3.12) is left as it is.

Not done here: docstrings made up from a signature, for classes that have none. Nobody reads them.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

_BUILDER: Final[Any] = getattr(dataclasses, "_FuncBuilder", None)
_COMPILE: Final = "add_fns_to_class"

type _Method = Callable[..., Any]


def install() -> None:
    """Have every dataclass that is made in this process from now on made so. Idempotent."""
    if _BUILDER is not None and getattr(_BUILDER, _COMPILE, None) is not _add_later:
        _Methods.compile = getattr(_BUILDER, _COMPILE)
        setattr(_BUILDER, _COMPILE, _add_later)


class _Methods:
    """The methods of one class, as text until one is called."""

    compile: Callable[[Any, type], None]
    """The standard library's: compiles what a builder has, and gives the class the methods."""

    def __init__(self, builder: Any, cls: type) -> None:
        self._builder = builder
        self._called = cls.__qualname__
        self._made: dict[str, _Method] | None = None
        self._later: dict[str, _Method] = {}

    def defer(self, cls: type, name: str) -> None:
        """Give the class a method that stands in for the compiled one, and has all of them compiled."""

        def later(self: object, /, *values: Any, **named: Any) -> Any:
            return methods.put_in_place(type(self))[name](self, *values, **named)

        methods = self
        later.__name__, later.__qualname__ = name, f"{self._called}.{name}"
        self._later[name] = later
        setattr(cls, name, later)

    def put_in_place(self, cls: type) -> dict[str, _Method]:
        """Return the compiled methods, and put them where a class or one above it has ours.

        Two threads may both compile them; what they get is the same.
        """
        if self._made is None:
            scratch = type(self._called, (), {"__qualname__": self._called})
            _Methods.compile(self._builder, scratch)
            self._made = {name: vars(scratch)[name] for name in self._later}
        for one in cls.__mro__:
            for name, later in self._later.items():
                if vars(one).get(name) is later:
                    setattr(one, name, self._made[name])
        return self._made


def _add_later(builder: Any, cls: type) -> None:
    """Stand in for the standard library's method that compiles: what it would refuse, it refuses."""
    present = [name for name in builder.names if name in vars(cls)]
    if any(builder.overwrite_errors.get(name) for name in present):
        _Methods.compile(builder, cls)
        return
    methods = _Methods(builder, cls)
    for name in builder.names:
        if name not in present or builder.unconditional_adds.get(name):
            methods.defer(cls, name)
    if not cls.__doc__:
        cls.__doc__ = cls.__name__
