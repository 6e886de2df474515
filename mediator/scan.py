"""Find credentials in a stream that comes in pieces, and put others in their places. No IO.

Always: what is looked for is found in every spelling, however the pieces divide it, before its last byte is
passed on. What is held back is only an end that may still become one; where that end is so short that it is
likely chance, `waiting` says so, and whoever owns the stream passes it on with `release` after a moment. What
is completed after that cannot be replaced any more: the stream stops (`FoundError`).

Whether an end is held can be seen by its delay, also by an agent that has a server of its own send guesses.
So where the agent must not know what is looked for (`hidden`), only that decides which it knows anyway: what
its placeholder begins with as well, how long the value is, and which characters tokens are made of.
"""

import heapq
import string
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mediator.anyof import AnyOf
from mediator.encodings import (
    BASE64,
    Form,
    Needle,
    Pair,
    Short,
    Turned,
    before,
    needles_of,
    rare_of,
    respell,
    turn,
)
from mediator.sliced import in_slices, slices
from mediator.spelling import WIDEST, Mapped, Place, begun, folded, mapped, normal, unfolded

HOLD_FROM: Final = 4
"""Shorter coincidences at a piece's end are common (`a` begins many needles); holding them for long would
make an answer that pauses there wait for its next byte."""
KNOWN_FROM: Final = 3
"""What a value begins with tells it from other words from here on (`sk-`)."""
RARE_FROM: Final = 8
"""The same for rare encodings: what begins them (`1`, `115,`) ends many an event."""
KEPT_GONE: Final = 4
"""As many times the longest needle is kept of what was passed on: a rare one may have begun in it."""
TOKEN: Final = (string.ascii_letters + string.digits + "-_+/=").encode()
"""What tokens, base64 and hexadecimal are made of."""
_LINE_ENDS: Final = (b"\n", b"\r\n", b"\\n", b"\\r\\n")
_LINE: Final = 32  # characters; base64 is wrapped after 64 or 76
_APART: Final = "the placeholder of secrets.{} stands there in pieces; send it as it is"
_MARK: Final = b"hark"
"""What a placeholder has where its value's own characters begin (`mediator.placeholders`)."""
_FILLERS: Final = (b"0", b"z")
"""In the place of what must not be known: characters that differ in their second bit."""
_EVENT_ENDS: Final = (b"\n\n", b"\n\r\n")
"""A stream of events pauses there, and no value goes on behind it."""
MAX_HELD: Final = 1 << 18  # of blanks and escapes within one needle; a credential's hexadecimal is half of it


class FoundError(Exception):
    """A needle stands in the stream and stays; `name` says which, `reason` why if that is a choice."""

    def __init__(self, name: str, reason: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.reason = reason


class _Shape(NamedTuple):
    """What decides whether an end of a text may become a needle."""

    known: bytes
    """How it begins, as far as that may be known."""
    length: int
    enough: int = HOLD_FROM
    """From how many characters on it is no chance."""

    def fits(self, rest: bytes) -> bool:
        """Tell whether `rest`, which is made of its characters, may become it."""
        known, long_enough = self.known, self.enough <= len(rest) < self.length
        return long_enough and (rest.startswith(known) or known.startswith(rest))


class Table:
    """A fixed set of pairs, ready to be looked for in normal texts."""

    def __init__(
        self,
        pairs: Sequence[Pair] = (),
        within: Sequence[Pair] = (),
        *,
        hidden: Sequence[bytes] | None = None,
        minted: Container[bytes] = frozenset(),
    ) -> None:
        """`within`: texts that may stand plain, and not in what base64 or hexadecimal make of them.

        `hidden`: the agent must not know what is looked for, and has this in the place of each pair.
        `minted`: values that a server made up, perhaps as the agent wished: where one overlaps another value,
        that other one counts.
        """
        needles = [needle for pair in pairs for needle in needles_of(pair)]
        needles += [needle for pair in within for needle in needles_of(pair) if needle.form is not Form.PLAIN]
        rare = [needle for pair in pairs for needle in rare_of(pair)]
        self._needles = [*needles, *rare]
        self._given = [needle.text for needle in self._needles if needle.pair.old not in minted]
        self._minted = minted
        self._any = AnyOf(needle.text for needle in self._needles)
        self.longest = self._any.longest
        self.has = self._any.stand_in
        """Tells whether anything stands in a normal text."""
        self.spaced = any(b" " in pair.old for pair in pairs)
        """Whether a blank is no end of a word."""
        self._short: set[bytes] = set()
        self._alphabet: bytes | None = None
        if hidden is None:
            shapes = {_Shape(needle.text, len(needle.text)) for needle in needles}
            shapes |= {_Shape(needle.text, len(needle.text), RARE_FROM) for needle in rare}
            self._short |= {bytes((char,)) for pair in pairs if pair.new for char in before(pair)}
        else:
            known = [_known(pair, shown) for pair, shown in zip(pairs, hidden, strict=True)]
            shapes = {shape for these in known for shape in these}
            shapes |= {_Shape(b"", len(needle.text)) for needle in needles if needle.pair in within}
            self._alphabet = bytes({*TOKEN, *b"".join(needle.text for needle in needles)})
        self._unknown = max((one.length for one in shapes if len(one.known) < KNOWN_FROM), default=0)
        """The length of the longest one whose beginning does not tell it from other texts."""
        self._half = min((one.length for one in shapes if len(one.known) < KNOWN_FROM), default=0) // 2
        """Of the shortest such one."""
        self._prefixes: dict[bytes, list[_Shape]] = {}
        for shape in shapes:
            if len(shape.known) >= KNOWN_FROM:
                self._prefixes.setdefault(shape.known[:KNOWN_FROM], []).append(shape)
            if shape.enough == HOLD_FROM:
                self._short |= {shape.known[:size] for size in range(1, min(HOLD_FROM, len(shape.known) + 1))}
        self._begins = AnyOf(self._prefixes).stand_in

    def name_in(self, data: bytes) -> str | None:
        """Return the name of a pair that stands in `data` in any spelling, or None."""
        if not self.longest:  # of a run without credentials, every event of which is asked about
            return None
        text = normal(data)
        if not self.has(text):
            whole = unfolded(data)
            if whole is None or not self.has(text := normal(whole)):
                return None
        return next(needle.pair.name for needle in self._needles if needle.text in text)

    def folded_in(self, data: bytes) -> str | None:
        """Return the name of a pair that stands in `data` once what mail puts amid words is out of it."""
        whole = unfolded(data)
        if whole is None or not self.has(text := normal(whole)):
            return None
        plain = normal(data)
        found = (needle for needle in self._needles if needle.text in text)
        return next((one.pair.name for one in found if text.count(one.text) > plain.count(one.text)), None)

    def yields(self, needle: Needle, text: bytes, start: int) -> bool:
        """Tell whether a value that was not minted begins in a needle of a minted one at `start`."""
        if not self.is_minted(needle):
            return False
        end = start + len(needle.text) - 1
        return any(text.find(given, start, end + len(given)) >= 0 for given in self._given)

    def is_minted(self, needle: Needle) -> bool:
        """Tell whether it is of a value that a server made up."""
        return needle.pair.old in self._minted

    def hits(self, text: bytes) -> "_Hits":
        """Return what finds each needle in a normal text, one after another."""
        return _Hits(self._needles, text)

    def tail(self, text: bytes, word: int) -> int:
        """Return how many bytes at the end of a normal text begin a needle, or may stand just before one.

        Of the last `word` bytes they may also be such as nothing that may be known tells from any other word.
        """
        end = self._end(text)
        unknown = min(len(end), self._unknown - 1, word) if self._unknown else 0
        return max(unknown, self._begun(end))

    def tells(self, text: bytes, word: int) -> bool:
        """Tell whether too much of a needle may stand at the end of a normal text for that to be given out.

        That is what begins as a needle is known to, by more than chance, and of the last `word` bytes half of
        one that looks like any word.
        """
        end = self._end(text)
        return self._begun(end) >= HOLD_FROM or (bool(self._half) and min(len(end), word) >= self._half)

    def _end(self, text: bytes) -> bytes:
        """Return as much of a normal text's end as may belong to one needle."""
        end = text[-(self.longest - 1) :] if self.longest > 1 else b""
        if self._alphabet is not None:
            end = end[len(end.rstrip(self._alphabet)) :]
        return end

    def _begun(self, end: bytes) -> int:
        """Return how many bytes at the end of a text begin a needle, by what may be known of it."""
        for at in range(len(end)) if self._begins(end) else ():  # the leftmost is the longest
            shapes = self._prefixes.get(end[at : at + KNOWN_FROM], ())
            rest = end[at:] if shapes else b""
            if any(shape.fits(rest) for shape in shapes):
                return len(rest)
        for size in range(HOLD_FROM - 1, 0, -1):
            if end[-size:] in self._short:
                return min(size, len(end))
        return 0


def _last_word(table: Table, window: bytes, first: int, last: int) -> int:
    """Return how many characters the last word before `last` has, as far as it stands behind `first`."""
    blank = first if table.spaced else window.rfind(b" ", first, last) + 1
    return len(normal(window[max(first, blank) : last]))


def _tells(table: Table, window: bytes, *, over: bool) -> bool:
    """Tell whether too much of a needle may stand at a text's end; whose last word is `over`."""
    last = len(window) - begun(window)
    text = normal(window[:last])
    again = begun(text)
    word = 0 if over else _last_word(table, window, 0, last) - again
    return table.tells(text[: len(text) - again], word)


def _alike(pair: Pair) -> int:
    """Return how many characters a value and its placeholder begin with alike, not by chance."""
    marks = [at for text in (pair.old, pair.new) if (at := text.find(_MARK)) >= 0]
    return min([len(_common(pair.old, pair.new)), *marks])


def _is_apart(found: Mapped, turned: Turned, raw: bytes) -> bool:
    """Tell whether what was found is divided otherwise than into lines of some length, as no program does."""
    gaps = 0
    for at in range(turned.start + 1, turned.end):
        gap = raw[found.ends[at - 1] : found.starts[at]].replace(b"\0", b"")
        if gap:
            gaps += 1
            if gap not in _LINE_ENDS:
                return True
    return gaps > 1 + (turned.end - turned.start) // _LINE


def _known(pair: Pair, shown: bytes) -> Iterator[_Shape]:
    """Yield what of each needle follows from what the agent has in the pair's place.

    That is what the two begin with alike, up to where a placeholder says that it is one: behind that they are
    alike by chance.
    """
    begins = pair.old[: _alike(replace(pair, new=shown))]
    rest = len(pair.old) - len(begins)
    alike: dict[object, list[bytes]] = {}
    for filler in _FILLERS:
        for needle in needles_of(replace(pair, old=begins + filler * rest)):
            alike.setdefault(_way(needle), []).append(needle.text)
    for needle in needles_of(pair):
        texts = alike.get(_way(needle), [b""])
        known = needle.text
        for text in texts:
            known = _common(known, text)
        yield _Shape(known, len(needle.text))


def _way(needle: Needle) -> object:
    """How it was made; a text in base64 without special characters stands for both kinds of it."""
    return Form.BASE64 if needle.form is Form.BASE64_URL else needle.form, needle.offset


def _common(one: bytes, other: bytes) -> bytes:
    differ = (at for at, (ours, theirs) in enumerate(zip(one, other, strict=False)) if ours != theirs)
    return one[: next(differ, min(len(one), len(other)))]


class _Hits:
    """Finds needles from left to right. Each is looked for in each stretch of the text once, however many
    stand there: a body of nothing but placeholders is searched in time that follows its length."""

    def __init__(self, needles: Sequence[Needle], text: bytes) -> None:
        self._needles = needles
        self._text = text
        found = ((text.find(needle.text), number) for number, needle in enumerate(needles))
        self._next = [(at, -len(needles[number].text), number) for at, number in found if at >= 0]
        heapq.heapify(self._next)

    def first(self, start: int) -> tuple[int, Needle] | None:
        """Return the first needle from `start` on, of several there the longest. `start` MUST NOT go back."""
        while self._next and self._next[0][0] < start:
            _, size, number = self._next[0]
            at = self._text.find(self._needles[number].text, start)
            if at < 0:
                heapq.heappop(self._next)
            else:
                heapq.heapreplace(self._next, (at, size, number))
        return (self._next[0][0], self._needles[self._next[0][2]]) if self._next else None


@dataclass(slots=True)
class _Work:
    """A stretch of a stream under way: what comes out of it up to `done`, where more has to come first."""

    out: bytearray = field(default_factory=bytearray)
    done: int = 0
    stop: int | None = None


class StreamSwap:
    """One stream. `feed` returns what may pass, with every needle replaced; `finish` the rest."""

    def __init__(
        self,
        table: Callable[[], Table],
        place: Place = Place.PLAIN,
        *,
        same_length: bool = False,
        patient: bool = True,
        told: Callable[[Pair, bytes], None] | None = None,
        strays: Callable[[], Container[str]] = frozenset,
    ) -> None:
        """`told` hears how what replaced a needle was spelled. It MAY raise FoundError.

        `strays` names the pairs that have no business in this stream: it stops where one stands.
        Not `patient` is a stream in which either side may wait for the other behind any word.
        """
        self._patient = patient
        self._told = told
        self._strays = strays
        self._table = table
        self._place = place
        self._same_length = same_length
        self._gone = b""  # the last bytes that were passed on: a needle may have begun in them
        self._held = b""
        self.waiting = False
        """Whether what is held is so little that it should not be held for long."""
        self.used: dict[str, Pair] = {}
        """What was replaced, by name."""

    @property
    def holding(self) -> bool:
        """Tell whether something is held that begins as a needle does, by more than chance."""
        return bool(self._held) and not self.waiting

    def feed(self, piece: bytes) -> bytes:
        """Take a piece and return what may pass. Raises FoundError."""
        passed = []
        for part in slices(piece):
            self._held += part
            passed.append(self._run(final=False))
        return b"".join(passed)

    def finish(self) -> bytes:
        """Return the rest: the stream ended. Raises FoundError."""
        return self._run(final=True)

    def whole(self, text: bytes) -> bytes:
        """Take all that there is and return all of it. Raises FoundError."""
        if in_slices():
            return self.feed(text) + self._run(final=True)
        self._held += text
        return self._run(final=True)

    def release(self) -> bytes:
        """Return what is held although it may still become a needle."""
        passed, self._gone = self._held, self._gone + self._held
        self._held, self.waiting = b"", False
        return passed

    def after_silence(self) -> bytes:
        """Return what is held, as `release` does, where nothing came behind it for long.

        Nothing, where the stream broke off amid so much of a word that most of a needle could be in it: that
        waits on. Behind the end of a line no word goes on.
        """
        table, window = self._table(), self._gone + self._held
        whole = folded(window, open_end=True)
        texts = (window,) if whole is None else (window, whole[0])
        over = window.endswith(b"\n")
        return b"" if any(_tells(table, text, over=over) for text in texts) else self.release()

    def at_once(self, piece: bytes) -> bytes:
        """Take a piece and return what may pass, without waiting for what is likely chance."""
        passed = self.feed(piece)
        return passed + self.release() if self.waiting else passed

    def _run(self, *, final: bool) -> bytes:
        table, window, gone = self._table(), self._gone + self._held, len(self._gone)
        self.waiting = False
        if not table.longest:
            self._gone, self._held = window[-1:], b""
            return window[gone:]
        kept = KEPT_GONE * table.longest
        work = self._swapped(table, window, final=final)
        hidden = table.folded_in(bytes(work.out) + window[work.done :] if work.done else window)
        if hidden is not None:
            raise FoundError(hidden)
        hold = len(window) if final else self._hold(table, window, work)
        if hold < gone:  # what was passed on too early may still become one
            self._gone, self._held = window[max(hold - kept, 0) : gone], window[gone:]
            return b""
        if not work.done:  # as of most: nothing is copied that is not handed out
            self._gone, self._held = window[max(hold - kept, 0) : hold], window[hold:]
            return window[gone:hold]
        passed = bytes(work.out) + window[work.done : hold]
        self._gone, self._held = passed[-kept:], window[hold:]
        return passed[gone:]

    def _swapped(self, table: Table, window: bytes, *, final: bool) -> _Work:
        """Replace what stands in the window whole."""
        work = _Work()
        if not table.has(normal(window)):
            return work
        found, at = mapped(window), 0
        hits = table.hits(found.text)
        while (hit := hits.first(at)) is not None:
            position, needle = hit
            pair = needle.pair
            if found.ends[position + len(needle.text) - 1] <= len(self._gone):
                at = position + 1  # it had passed before it was known to be one
                continue
            if table.yields(needle, found.text, position):
                at = position + 1
                continue
            if pair.refusal or pair.name in self._strays():
                raise FoundError(pair.name, pair.refusal)
            if not final and table.is_minted(needle):
                last = len(found.text) - table.tail(found.text, len(found.text))
                if position + len(needle.text) > last:  # another value may have begun in it
                    work.stop = found.starts[max(position - 1, at)]
                    return work
            turned = turn(needle, position, found.text, final=final)
            if turned is Short.MORE:
                work.stop = found.starts[max(position - 1, at)]
                return work
            if turned is Short.NEVER or turned.start < at:
                raise FoundError(pair.name)
            self._replace(work, window, found, turned, needle)
            at = turned.end
        return work

    def _replace(self, work: _Work, window: bytes, found: Mapped, turned: Turned, needle: Needle) -> None:
        pair = needle.pair
        start, end = found.starts[turned.start], found.ends[turned.end - 1]
        new = respell(turned, found, window, self._place)
        early = max(len(self._gone) - start, 0)
        known = _alike(pair) if needle.form is Form.PLAIN else 0
        if self._told is not None and early > known:  # whatever they are: the agent would see it
            raise FoundError(pair.name)
        if new[:early] != window[start : start + early] or (self._same_length and len(new) != end - start):
            raise FoundError(pair.name)
        if self._told is not None and _is_apart(found, turned, window):
            raise FoundError(pair.name, _APART.format(pair.name))
        if self._told is not None and new != pair.new:
            based = needle.form in (Form.BASE64, Form.BASE64_URL)
            self._told(pair, new[1:-1] if based else new)  # its ends are its neighbours' as well
        work.out += window[work.done : start] + new
        work.done = end
        self.used[pair.name] = pair

    def _hold(self, table: Table, window: bytes, work: _Work) -> int:
        """Return from where on the window's end may still become a needle, in one line or in several."""
        if work.stop is not None:
            return work.stop
        start = self._hold_plain(table, window, work)
        first = max(work.done, len(window) - WIDEST * (table.longest + 2))
        whole = None if window.endswith(_EVENT_ENDS) else folded(window[first:], open_end=True)
        if whole is None:
            return start
        text, place = whole
        waiting, inner = self.waiting, self._hold_plain(table, text, _Work())
        if inner == len(text):
            self.waiting = waiting
            return start
        self.waiting = self.waiting and (waiting or start == len(window))  # else one of the two is no chance
        return min(start, first + place(inner))

    def _hold_plain(self, table: Table, window: bytes, work: _Work) -> int:
        first = max(work.done, len(window) - WIDEST * (table.longest + 2))
        last = len(window) - begun(window[first:])
        text = normal(window[first:last])
        again = begun(text)  # of a spelling within a spelling
        word, paused = 0, window.endswith(_EVENT_ENDS)
        if self._patient and not paused:
            word = _last_word(table, window, first, last)
        inner = table.tail(text[: len(text) - again], word) if again else 0
        size = max(table.tail(text, word), inner + again)
        if not size or (paused and size < HOLD_FROM):  # an event that ends in such a character is not late
            self.waiting = last < len(window)
            return last
        self.waiting = size < HOLD_FROM
        near = max(first, last - WIDEST * (size + 2))  # mapping is slow, and the end alone is asked for
        if (short := normal(window[near:last])) and len(short) > size + 1:
            first, text = near, short
        index = len(text) - size
        if index and text[index - 1] in BASE64:  # it shares a character with what stands before it
            index -= 1
        plain = len(text) == last - first
        start = first + (index if plain else mapped(window[first:last]).starts[index])
        return start if len(window) - start <= MAX_HELD else len(window)
