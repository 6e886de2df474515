"""The language of `-until`: what has to happen in a run, as words.

    denied host=evil.example
    request host=api.example method=POST path~^/transfer
    tool name=send_email and not denied
    exit!=0

What always holds: an expression is understood whole or refused, with the column and what was likely meant;
judging one takes time in proportion to what it looks at (the patterns are RE2's).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from hark.bisect.facts import EXIT, KEYS, Fact
from hark.errors import UsageError
from hark.patch import nearest
from hark.policy.patterns import finds, wrong_expression
from hark.visible import visible

MAX_LENGTH: Final = 4000
MAX_DEPTH: Final = 50
_TOKEN: Final = re.compile(r"""\s*(?:(?P<bracket>[()])|(?P<op>!=|!~|>=|<=|[=~<>])|(?P<word>[\w.-]+))""")
_VALUE: Final = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+)')
_NUMBER: Final = re.compile(r"-?\d{1,9}", re.ASCII)
_MEANT: Final = {
    "deny": "denied", "refused": "denied", "blocked": "denied", "requests": "request", "http": "request",
    "call": "tool", "tools": "tool", "tool_call": "tool", "function": "tool", "code": "exit",
    "url": "path", "domain": "host", "server_name": "host", "arguments": "args", "reason": "why",
    "verb": "method", "wrote": "file",
}  # fmt: skip
_JOINING: Final = ("and", "or", "not")


@dataclass(frozen=True, slots=True)
class Condition:
    """Something asked of one fact."""

    key: str
    op: str
    value: str

    def holds(self, fact: Fact) -> bool:
        """Tell whether it is so."""
        said, value = fact.said[self.key], self.value
        if self.key == "host":  # whose case says nothing
            said, value = said.lower(), value if "~" in self.op else value.lower()
        match self.op:
            case "=" | "!=":
                return (said == value) is (self.op == "=")
            case "~" | "!~":
                return finds(value, said) is (self.op == "~")
            case _:
                return _ORDERS[self.op](int(said), int(value))


@dataclass(frozen=True, slots=True)
class Term:
    """There is a fact of which all conditions hold."""

    what: str
    conditions: tuple[Condition, ...] = ()

    def seen(self, facts: Sequence[Fact]) -> int | None:
        """Return the event that shows it first; None where it is not so."""
        for fact in facts:
            if fact.what == self.what and all(one.holds(fact) for one in self.conditions):
                return fact.seq
        return None


@dataclass(frozen=True, slots=True)
class Not:
    """It is not so, in the whole run."""

    part: "Expression"

    def seen(self, facts: Sequence[Fact]) -> int | None:
        """As of a Term; what did not happen is shown by the last event."""
        if self.part.seen(facts) is not None:
            return None
        return max((fact.seq for fact in facts), default=0)


@dataclass(frozen=True, slots=True)
class Both:
    """All of it is so (`and`), or some of it."""

    parts: "tuple[Expression, ...]"
    all: bool

    def seen(self, facts: Sequence[Fact]) -> int | None:
        """As of a Term: the event with which it is so."""
        found = [part.seen(facts) for part in self.parts]
        shown = [seq for seq in found if seq is not None]
        if not shown or (self.all and len(shown) < len(found)):
            return None
        return max(shown) if self.all else min(shown)


type Expression = Term | Not | Both

_ORDERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": lambda one, other: one < other,
    ">": lambda one, other: one > other,
    "<=": lambda one, other: one <= other,
    ">=": lambda one, other: one >= other,
}


def speaks_of(expression: Expression, what: str) -> bool:
    """Tell whether an expression asks for something of a kind."""
    match expression:
        case Term():
            return expression.what == what
        case Not(part):
            return speaks_of(part, what)
        case Both(parts):
            return any(speaks_of(part, what) for part in parts)


def parse(text: str) -> Expression:
    """Read an expression. Raises UsageError with the column."""
    if len(text) > MAX_LENGTH:
        raise UsageError(f"-until is longer than {MAX_LENGTH} characters")
    reader = _Reader(text)
    found = reader.either(0)
    if not reader.ended:
        word = reader.peek()
        reader.fail(f"{_quoted(word)} has no place here; join two conditions by and, or: ... and {word} ...")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def ended(self) -> bool:
        return not self._text[self._at :].strip()

    def fail(self, sentence: str) -> NoReturn:
        column = len(self._text) - len(self._text[self._at :].lstrip()) + 1
        raise UsageError(f"-until, column {column}: {sentence}")

    def peek(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        return found[0].strip() if found else self._text[self._at :].strip()[:1]

    def take(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            what = _quoted(self.peek()) if not self.ended else "the end"
            self.fail(f"{what} has no meaning here; known are {', '.join(KEYS)}, and, or, not")
        self._at = found.end()
        return found[0].strip()

    def either(self, depth: int) -> Expression:
        return self._joined(
            "or", lambda: self._joined("and", lambda: self._one(depth), all_=True), all_=False
        )

    def _joined(self, word: str, part: Callable[[], Expression], *, all_: bool) -> Expression:
        parts = [part()]
        while not self.ended and self.peek() == word:
            self.take()
            parts.append(part())
        return parts[0] if len(parts) == 1 else Both(tuple(parts), all_)

    def _one(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            self.fail(f"is nested more than {MAX_DEPTH} deep")
        if self.ended:
            self.fail(f"a condition is missing; known are {', '.join(KEYS)}")
        match self.peek():
            case "not":
                self.take()
                return Not(self._one(depth + 1))
            case "(":
                self.take()
                found = self.either(depth + 1)
                if self.ended or self.peek() != ")":
                    self.fail("a ) is missing")
                self.take()
                return found
            case _:
                return self._term()

    def _term(self) -> Term:
        word = self.peek()
        if word not in KEYS:
            self.fail(f"{_quoted(word)} is nothing that happens in a run; {_near(word, tuple(KEYS))}")
        self.take()
        if word == EXIT:
            return Term(word, (self._exit(),))
        conditions = []
        while not self.ended and self.peek() not in {*_JOINING, ")"}:
            conditions.append(self._condition(word))
        return Term(word, tuple(conditions))

    def _condition(self, what: str) -> Condition:
        key = self.peek()
        if key not in KEYS[what]:
            if key in KEYS:
                self.fail(f"{_quoted(key)} begins another condition; put and or or before it")
            self.fail(f'{_quoted(key)} is nothing that is known of "{what}"; {_near(key, KEYS[what])}')
        self.take()
        op = self.peek()
        if op not in ("=", "!=", "~", "!~"):
            self.fail(f"{key} needs one of = != ~ !~ and a value: {key}=..., or {key}~PATTERN")
        self.take()
        return Condition(key, op, self._value(key, op))

    def _exit(self) -> Condition:
        op = self.peek()
        if op not in ("=", "!=", *_ORDERS):
            self.fail("exit needs one of = != < > <= >= and a number: exit!=0")
        self.take()
        value = self.peek()
        if not _NUMBER.fullmatch(value):
            self.fail(f"{_quoted(value)} is no exit code; write a number: exit{op}0")
        self.take()
        return Condition("code", op, value)

    def _value(self, key: str, op: str) -> str:
        found = _VALUE.match(self._text, self._at)
        if found is None:
            self.fail(
                f'{key}{op} needs a value right behind it, in "..." where it has a space: {key}{op}"a b"'
            )
        bare = found["bare"]
        if bare is not None:
            bare = _balanced(bare)
            value, end = bare, self._at + len(bare)
        else:
            value, end = re.sub(r"\\(.)", r"\1", found["quoted"]), found.end()
        wrong = wrong_expression(value) if "~" in op else None
        if wrong is not None:
            self.fail(f"is no pattern (RE2): {visible(wrong)}")
        self._at = end
        return value


def _balanced(bare: str) -> str:
    """Return a value without brackets behind it that close nothing in it."""
    while bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1]
    return bare


def _near(word: str, known: tuple[str, ...]) -> str:
    near = _MEANT.get(word.lower(), "")
    if near not in known:
        near = next(iter(nearest.names(word.lower(), known, 1)), "")
    return f"did you mean {near}?" if near else f"known are {', '.join(known)}"


def _quoted(word: str) -> str:
    return f'"{visible(word[:40])}"'


def holds(expression: Expression, facts: Iterable[Fact], after: int = -1) -> int | None:
    """Return the event with which it is so in the part of a run after one event; None where it is not."""
    return expression.seen([fact for fact in facts if fact.seq > after])
