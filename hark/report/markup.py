"""Recorded text as text of a page: the one way by which anything that was recorded gets into the HTML.

What always holds: what comes out of here holds no character that begins or ends an element or a reference,
nothing invisible and nothing that turns the direction of writing; so it stands as text. What comes of `shown` and
`text` can stand inside double quotes too. Everything else of a page is our own words and numbers.
"""

import html
from collections.abc import Iterable
from typing import Final

from hark.visible import printable, visible, visible_lines

MAX_NAME: Final = 200  # characters of what is called something: a model, a host, a tool, an identifier
MAX_SHOWN: Final = 32_768  # characters of one text; the bundle has the rest
FOLDED: Final = 600  # characters from which a text is folded
PREVIEW: Final = 160  # of a folded text


def shown(sentence: str) -> str:
    """Return a sentence of our own, which may quote what `hark.visible` made safe."""
    return html.escape(printable(sentence), quote=True)


def inside(seen: str) -> str:
    """Return what `hark.visible` has made safe as the text of an element, where quotes can stand as they are."""
    return seen.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text(recorded: str) -> str:
    """Return recorded text, in one line."""
    return html.escape(visible(recorded), quote=True)


def brief(recorded: str, most: int = MAX_NAME) -> str:
    """Return a recorded name in one line, cut where it is too long to be one."""
    return text(recorded) if len(recorded) <= most else f"{text(recorded[: most - 1])}…"


def lines(recorded: str) -> str:
    """Return recorded text with its own line breaks and tabs, as the text of an element."""
    return inside(visible_lines(recorded))


def block(recorded: str, name: str = "said") -> str:
    """Return a text as a block; a long one folded, one that is longer still cut, which is said."""
    cut = recorded[:MAX_SHOWN]
    more = len(recorded) - len(cut)
    rest = f'<p class="more">{more:,} more characters are in the bundle.</p>' if more else ""
    body = f'<pre class="{name}">{lines(cut)}</pre>{rest}'
    if len(recorded) <= FOLDED:
        return body
    start = " ".join(recorded[: 2 * PREVIEW].split())[:PREVIEW]
    count = f'<span class="size">{len(recorded):,} characters</span>'
    return f'<details class="fold"><summary>{text(start)}… {count}</summary>{body}</details>'


def number(value: int) -> str:
    """Return a count with its thousands told apart."""
    return f"{value:,}"


def plural(count: int, what: str) -> str:
    """Return a count and what is counted."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells that are markup already."""
    head = "".join(f'<th scope="col">{shown(one)}</th>' for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{shown(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def event_link(seq: int) -> str:
    """Return a reference to an event of this page."""
    return f'<a href="#e{seq}">event {seq}</a>'
