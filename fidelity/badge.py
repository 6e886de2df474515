"""`python -m fidelity.badge`: the badge of docs/fidelity.md, made of that page's own sentence alone.

Always: a page whose sentence cannot be read has no badge, rather than an old one. It is green only where
every replay was equal.
"""

import re
import sys
from pathlib import Path
from typing import Final

from fidelity.shape import ROOT

PAGE: Final = ROOT / "docs" / "fidelity.md"
FIGURES: Final = re.compile(r"\b(\d+) of (\d+) replays of the shapes were equal\.")
LABEL: Final = "replays equal"
CHARACTER: Final = 6.6  # of the font, in pixels: wide enough for any digit
PADDING: Final = 12
GREEN: Final = "#3a7d34"
AMBER: Final = "#9a6700"


def main() -> int:
    """Write the badge of the page that is there."""
    if not write(PAGE):
        sys.exit(f"fidelity.badge: {PAGE} does not say how many replays were equal; run make fidelity")
    return 0


def beside(page: Path) -> Path:
    """Where the badge of a page lies."""
    return page.parent / "pictures" / "fidelity.svg"


def write(page: Path) -> bool:
    """Write a page's badge, where it has a folder for pictures; return whether the page has figures."""
    made = svg(page.read_text())
    place = beside(page)
    if place.parent.is_dir():
        if made:
            place.write_text(made)
        else:
            place.unlink(missing_ok=True)
    return bool(made)


def svg(text: str) -> str:
    """The badge of a page's text; nothing where it has no figures."""
    found = FIGURES.search(text)
    if found is None:
        return ""
    equal, tried = int(found[1]), int(found[2])
    value = f"{equal} of {tried}"
    left, right = (round(len(word) * CHARACTER) + PADDING for word in (LABEL, value))
    colour = GREEN if equal == tried else AMBER
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{LABEL}: {value}">\n'
        f"<title>{LABEL}: {value}</title>\n"
        f'<rect width="{left}" height="20" fill="#444"/>\n'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">\n'
        f'<text x="{left / 2:g}" y="14">{LABEL}</text>\n'
        f'<text x="{left + right / 2:g}" y="14">{value}</text>\n'
        "</g>\n</svg>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
