"""What a command accepts, as a table, and the one parser that reads every command line by it.

Every option is `-name` or `--name`, before or after the positional arguments, with its value as the next
word or behind `=`; `--` ends the options. A command that starts another program (`run`) takes everything
from the first word that is not an option, or from `--`, as that program's own command line, as env and
sudo do. Help, the man page's tests and the nearest-name hint come from the same table.

Own, and not argparse: argparse brings gettext, re and shutil (6 ms of a 60 ms budget), knows `-name` only
as a bundle of short options or by guessing prefixes, and words its errors differently from hark. It is not
done here: sub-sub-commands, abbreviations, option groups.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from hark.errors import UsageError

HELP_NAMES: Final = ("h", "help")
NEAR: Final = 0.65  # of difflib's ratio: `verison` is near `version`, `nope` is not near `inspect`
MAX_NUMBER_DIGITS: Final = (
    19  # every number on a command line fits a u64; int() of more digits only burns time
)


class Option(NamedTuple):
    """One option. `value` is the value's name in the help, `""` for a switch that takes none."""

    name: str
    help: str
    value: str = ""
    repeat: bool = False
    required: bool = False
    """Shown without brackets; the command itself says what it needs, since its words are the better ones."""


class Positional(NamedTuple):
    """One argument by place. At most the last may be optional."""

    name: str
    help: str
    optional: bool = False


class Spec(NamedTuple):
    """One command: what `hark help` shows and what the parser accepts.

    `about` is printed under the usage line: paragraphs with a blank line between them.
    `command` is the help of the program to start, for a command that takes one (`run`); else `""`.
    `refused` is the exit code for a command line that makes no sense, or names a file that cannot be used.
    """

    name: str
    summary: str
    options: tuple[Option, ...] = ()
    positionals: tuple[Positional, ...] = ()
    about: str = ""
    command: str = ""
    refused: int = UsageError.exit_code


class Args:
    """A command line that has been read. Asking for a name that the table lacks is a KeyError: a bug."""

    __slots__ = ("_options", "_positionals", "asks_help", "command")

    def __init__(
        self,
        options: Mapping[str, list[str]],
        positionals: Mapping[str, str | None],
        command: tuple[str, ...],
        *,
        asks_help: bool,
    ) -> None:
        self._options = options
        self._positionals = positionals
        self.command = command
        """The program to start and its arguments, of a command that takes one."""
        self.asks_help = asks_help
        """Help was asked for, and nothing behind that word has been looked at."""

    def flag(self, name: str) -> bool:
        """Whether the switch was given."""
        return bool(self._options[name])

    def text(self, name: str) -> str | None:
        """The option's value, or None if it was not given."""
        values = self._options[name]
        return values[0] if values else None

    def texts(self, name: str) -> tuple[str, ...]:
        """Every value of a repeatable option, in order."""
        return tuple(self._options[name])

    def number(self, name: str) -> int | None:
        """The option's value as a whole number from 0, or None if it was not given."""
        value = self.text(name)
        return None if value is None else whole_number(name, value)

    def numbers(self, name: str) -> tuple[int, ...]:
        """Every value of a repeatable option as a whole number from 0."""
        return tuple(whole_number(name, value) for value in self._options[name])

    def positional(self, name: str) -> str:
        """A positional argument that the parser has made sure of."""
        value = self._positionals[name]
        if value is None:
            raise KeyError(name)
        return value

    def optional(self, name: str) -> str | None:
        """A positional argument that may be missing."""
        return self._positionals[name]


def whole_number(name: str, value: str) -> int:
    """`value` as a number from 0, strictly: no sign, blanks or underscores, which int() would let pass."""
    if not (value.isascii() and value.isdigit() and len(value) <= MAX_NUMBER_DIGITS):
        raise UsageError(f"-{name} needs a whole number from 0, not {value!r}")
    return int(value)


def parse(spec: Spec, words: Sequence[str]) -> Args:
    """Read the words behind the command's name. Raises `UsageError` with one sentence."""
    return _Reader(spec, words).read()


class _Reader:
    """One pass over the words, with the index of the next unread one."""

    def __init__(self, spec: Spec, words: Sequence[str]) -> None:
        self.spec = spec
        self.words = words
        self.at = 0
        self.options = {option.name: option for option in spec.options}
        self.given: dict[str, list[str]] = {option.name: [] for option in spec.options}
        self.places: list[str] = []

    def read(self) -> Args:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word == "--":
                self._take_rest()
            elif not word.startswith("-") or word == "-":
                self.places.append(word)
                if self.spec.command:
                    self._take_rest()
            elif self._asks_for_help(word):
                return Args(self.given, {}, (), asks_help=True)
            else:
                self._take_option(word)
        return Args(self.given, *self._sorted_places(), asks_help=False)

    def _take_rest(self) -> None:
        self.places += self.words[self.at :]
        self.at = len(self.words)

    def _asks_for_help(self, word: str) -> bool:
        return word.lstrip("-") in HELP_NAMES and word.lstrip("-") not in self.options

    def _take_option(self, word: str) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        option = self.options.get(name)
        if option is None:
            sentence = unknown(f"hark {self.spec.name} has no option -{name}", name, self.options, dash="-")
            raise UsageError(f"{sentence} (`hark help {self.spec.name}` lists the options)")
        if not option.value:
            if equals:
                raise UsageError(f"-{name} is a switch and takes no value")
            self.given[name] = [""]
            return
        if self.given[name] and not option.repeat:
            raise UsageError(f"-{name} may be given only once")
        self.given[name].append(value if equals else self._next_word(option))

    def _next_word(self, option: Option) -> str:
        """The value in the next word, unless that word is another option: then the value was forgotten."""
        if self.at >= len(self.words):
            raise UsageError(f"-{option.name} needs a value: -{option.name} {option.value}")
        word = self.words[self.at]
        self.at += 1
        if word == "--" or (word.startswith("-") and word.lstrip("-").partition("=")[0] in self.options):
            hint = f"if you mean it: -{option.name}={word}"
            raise UsageError(f"-{option.name} needs a value, and {word} is an option ({hint})")
        return word

    def _sorted_places(self) -> tuple[dict[str, str | None], tuple[str, ...]]:
        """The words that are not options, as positional arguments or as the command to start."""
        if self.spec.command:
            if not self.places:
                raise UsageError(f"hark {self.spec.name} needs a command to run: {short(self.spec)}")
            return {}, tuple(self.places)
        found: dict[str, str | None] = {}
        for index, place in enumerate(self.spec.positionals):
            found[place.name] = self.places[index] if index < len(self.places) else None
            if found[place.name] is None and not place.optional:
                raise UsageError(f"hark {self.spec.name} needs {place.name}: {short(self.spec)}")
            self._check_choice(place, found[place.name])
        if len(self.places) > len(found):
            extra = self.places[len(found)]
            raise UsageError(f"hark {self.spec.name} has no use for {extra!r}: {short(self.spec)}")
        return found, ()

    def _check_choice(self, place: Positional, word: str | None) -> None:
        """Refuse a word that is none of those that the name lists; what stands in capitals is no word."""
        choices = place.name.split("|")
        if word is not None and len(choices) > 1 and place.name.islower() and word not in choices:
            sentence = unknown(f"hark {self.spec.name} has no {word!r}", word, choices)
            listed = " It" if sentence.endswith("?") else "; it"
            raise UsageError(f"{sentence}{listed} is one of {', '.join(choices)}: {short(self.spec)}")


def usage(spec: Spec) -> str:
    """The command's usage line."""
    return " ".join(usage_parts(spec))


def short(spec: Spec) -> str:
    """The usage line for an error: what must be there, and where the rest is told."""
    parts = ["hark", spec.name]
    parts += [f"-{option.name} {option.value}".rstrip() for option in spec.options if option.required]
    if any(not option.required for option in spec.options):
        parts.append("[OPTION]...")
    return f"{' '.join(parts + _places(spec))} (`hark help {spec.name}` lists the options)"


def usage_parts(spec: Spec) -> list[str]:
    """The usage line in pieces that a line break must not tear."""
    parts = ["hark", spec.name]
    for option in spec.options:
        shown = f"-{option.name} {option.value}".rstrip()
        bracketed = shown if option.required else f"[{shown}]"
        parts.append(f"{bracketed}..." if option.repeat else bracketed)
    return parts + _places(spec)


def _places(spec: Spec) -> list[str]:
    parts = [f"[{place.name}]" if place.optional else place.name for place in spec.positionals]
    return [*parts, "[--]", "COMMAND..."] if spec.command else parts


def unknown(sentence: str, name: str, known: Mapping[str, object] | Sequence[str], *, dash: str = "") -> str:
    """`sentence`, with the nearest known name behind it if one is really near, whatever the case."""
    import difflib  # only on the way to an error: it brings re

    by_lower = {one.lower(): one for one in known}
    near = [by_lower[one] for one in difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=NEAR)]
    return f"{sentence}; did you mean {dash}{near[0]}?" if near else sentence
