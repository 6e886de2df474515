"""The page: its parts in their order, as pieces to be written one after the other.

What always holds: there is no script, no form, and no address that leads away from the page; a policy in the
page's head refuses to load anything. Recorded text gets in by `hark.report.markup` alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from hark.bundle.outcome import describe
from hark.report import beside, timeline
from hark.report.facts import DENIAL, SECRET, Facts
from hark.report.links import Link
from hark.report.markup import MAX_SHOWN, brief, event_link, number, plural, shown, table, text
from hark.report.style import CSS

MAX_LINKS: Final = 400  # of those that are listed
MAX_TABLE: Final = 200
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Other(NamedTuple):
    """The bundle that this one is laid beside."""

    name: str
    facts: Facts
    verdict: str
    lines: Sequence[str]
    root: bytes


class Parts(NamedTuple):
    """What a page is made of."""

    name: str
    facts: Facts
    verdict: str
    lines: Sequence[str]
    """As `hark verify` prints them."""
    links: Sequence[Link]
    links_left_out: int
    conversation: Iterable[bytes]
    """Markup, in pieces."""
    events: Iterable[bytes]
    """Likewise."""
    other: Other | None = None
    root: bytes = b""
    """As it was verified."""


def page(parts: Parts) -> Iterator[bytes]:
    """Yield the page."""
    yield "".join(_before(parts)).encode()
    yield from parts.conversation
    yield f'</section><section id="links"><h2>What led to what</h2>{_links(parts)}</section>'.encode()
    yield f'<section id="events"><h2>Events</h2><p class="note">{_EVENTS}</p>'.encode()
    yield from parts.events
    yield f"</section></main><footer><p>{_FOOT}</p></footer></body></html>\n".encode()


def _before(parts: Parts) -> Iterator[str]:
    """Yield what stands before the conversation."""
    yield _top(parts)
    yield f'<section id="summary"><h2>Summary</h2>{_summary(parts.facts)}</section>'
    yield f'<section id="timeline"><h2>Timeline</h2>{timeline.timeline(parts.facts, parts.links)}</section>'
    if parts.other is not None:
        other = parts.other
        yield f'<section id="beside"><h2>Beside {text(other.name)}</h2>{_verdict(other.verdict, other.lines)}'
        yield beside.beside(parts.facts, other.facts, parts.name, other.name, (parts.root, other.root))
        yield "</section>"
    yield '<section id="conversation"><h2>Conversation</h2>'
    if not parts.facts.model_calls:
        yield '<p class="note">No request of this run has the shape of a call of a model that hark knows.</p>'


def _top(parts: Parts) -> str:
    start = parts.facts.start
    run = brief(start.run_id) if start is not None else "without a beginning"
    sections = [
        "summary",
        "timeline",
        *(["beside"] if parts.other else []),
        "conversation",
        "links",
        "events",
    ]
    items = "".join(f'<li><a href="#{name}">{_NAMES[name]}</a></li>' for name in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>hark report: {text(parts.name)}</title><style>{CSS}</style></head><body>"
        f'<header><h1>{text(parts.name)}</h1><p class="lead">run {run}</p>{_verdict(parts.verdict, parts.lines)}'
        f'</header><nav aria-label="Sections"><ul>{items}</ul></nav><main>\n'
    )


def _verdict(verdict: str, lines: Sequence[str]) -> str:
    first, rest = lines[0], "\n".join(map(shown, lines[1:]))
    more = (
        f"<details><summary>What led to it, and what it does not say</summary><pre>{rest}</pre></details>"
        if rest
        else ""
    )
    return f'<div class="verdict {shown(verdict)}"><pre>{shown(first)}</pre>{more}</div>'


def _summary(facts: Facts) -> str:
    start, end = facts.start, facts.end
    command = " ".join(start.argv) if start is not None else ""
    rows = [
        _row("command", f"<code>{brief(command or 'not on record', MAX_SHOWN)}</code>", "all"),
        _row("where", brief(start.working_dir, MAX_SHOWN) if start else ""),
        _row("how it ended", text(describe(end))),
        _row("duration", f"{facts.last_ns / 1e9:,.3f} s"),
        _row("events", number(facts.events)),
        _row("exchanges", f"{number(facts.exchanges)}, {number(facts.refused)} refused by hark"),
        _row("denials", number(facts.marked[DENIAL]), bad=bool(facts.marked[DENIAL])),
        _row("uses of secrets", number(facts.marked[SECRET])),
        _row("calls of models", _models(facts)),
        _row("tokens", _tokens(facts)),
        _row("tool calls by models", number(facts.tool_calls)),
        _row("recorder", brief(start.recorder) if start else ""),
    ]
    return f'<dl class="sum">{"".join(rows)}</dl>{"".join(_tables(facts))}'


def _row(name: str, value: str, place: str = "", *, bad: bool = False) -> str:
    return f'<div class="{place}"><dt>{name}</dt><dd class="{"no" if bad else ""}">{value}</dd></div>'


def _models(facts: Facts) -> str:
    named = ", ".join(f"{text(name[:80])} ({count:,})" for name, count in facts.models.most_common(5))
    return f"{number(facts.model_calls)}{': ' if named else ''}{named}"


def _tokens(facts: Facts) -> str:
    if not facts.model_calls or facts.uncounted == facts.model_calls:
        return "not counted in any answer"
    cached = f" ({number(facts.tokens_cached)} cached)" if facts.tokens_cached else ""
    some = f"; {plural(facts.uncounted, 'answer')} without a count" if facts.uncounted else ""
    return f"{number(facts.tokens_in)} in{cached}, {number(facts.tokens_out)} out{some}"


def _tables(facts: Facts) -> Iterator[str]:
    if facts.denials:
        more = facts.marked[DENIAL] - min(len(facts.denials), MAX_TABLE)
        rows = ((event_link(one.seq), text(one.what), text(one.why)) for one in facts.denials[:MAX_TABLE])
        yield table(
            f"Denied{f' (and {more:,} more, listed as events)' if more else ''}",
            ("event", "what", "why"),
            rows,
        )
    if facts.secrets:
        used = list(facts.secrets.items())[:MAX_TABLE]
        rows3 = (
            (text(name), text(host), number(count), event_link(seq)) for (name, host), (seq, count) in used
        )
        yield table(
            "Secrets put in by hark; the agent held placeholders", ("name", "for", "times", "first"), rows3
        )
    if facts.hosts:
        hosts = facts.hosts.most_common(MAX_TABLE)
        yield table("Hosts", ("host", "exchanges"), ((text(host), number(count)) for host, count in hosts))
    if facts.policies:
        yield table(
            "Policy in force",
            ("event", "source", "what it allows"),
            ((event_link(one.seq), text(one.what), shown(one.why)) for one in facts.policies[:MAX_TABLE]),
        )


def _links(parts: Parts) -> str:
    if not parts.links:
        return '<p class="note">Nothing was found that links one event to another.</p>'
    listed = parts.links[:MAX_LINKS]
    more = len(parts.links) - len(listed) + parts.links_left_out
    rest = f'<p class="more">{plural(more, "more link")} not listed.</p>' if more else ""
    items = "".join(map(_link, listed))
    return f'<p class="note">{_LINKS}</p><ol class="links">{items}</ol>{rest}'


def _link(link: Link) -> str:
    kind = "read" if link.read else "inferred"
    return (
        f"<li><span>{event_link(link.source)} {text(link.cause)}</span>"
        f'<span class="how"><span class="curve {kind}"></span>{kind}: {text(link.how)}</span>'
        f"<span>{event_link(link.target)} {text(link.effect)}</span></li>"
    )


_NAMES: Final = {
    "summary": "Summary",
    "timeline": "Timeline",
    "beside": "Side by side",
    "conversation": "Conversation",
    "links": "What led to what",
    "events": "Events",
}
_LINKS: Final = (
    "A solid line is read from the data: an identifier that comes back, or a URL that is then asked for. A dashed "
    "line is inferred, from a text that is found again or from the order in time, and may be a coincidence."
)
_EVENTS: Final = (
    "Number, seconds since the run began, kind, exchange, and what happened. An opened event has every field, its "
    "leaf hash and the command that proves that it is in the bundle."
)
_FOOT: Final = (
    "This page is a copy and proves nothing by itself: the bundle does, by hark verify and hark prove. Control "
    "characters and invisible ones are shown as escapes."
)
