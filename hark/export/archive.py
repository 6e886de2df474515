"""A whole HTTP Archive as text, in pieces: its entries in the order in which the requests were made.

Always: an exchange is in memory until it has ended, and as its entry in `spool` from then on; of each entry
only its place is kept. Not done here: what an entry says (`hark.export.har`), and making and removing the
spool.
"""

import json
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from hark.bundle.frame import Frame
from hark.conversation.gathered import gather
from hark.export import har
from hark.export.wall import Wall


def archive(frames: Iterable[Frame], recorder: str, run_id: str, spool: BinaryIO) -> Iterator[str]:
    """Yield the archive's text, which is ASCII. `spool` MUST be an empty file to be read and written."""
    wall = Wall()
    places: list[tuple[int, int, int]] = []
    for exchange in gather(_seen(frames, wall)):
        data = json.dumps(har.entry(exchange, wall)).encode()
        places.append((exchange.seq, spool.tell(), len(data)))
        spool.write(data)
    head = json.dumps(har.log(recorder, run_id))
    yield f'{{"log": {head[:-1]}, "entries": ['
    for number, (_, at, size) in enumerate(sorted(places)):
        spool.seek(at)
        yield (",\n" if number else "\n") + spool.read(size).decode()
    yield "\n]}}\n"


def _seen(frames: Iterable[Frame], wall: Wall) -> Iterator[Frame]:
    for frame in frames:
        wall.see(frame)
        yield frame
