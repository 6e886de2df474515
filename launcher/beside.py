"""Closes what the kernel takes long to close, while something else is done.

The last descriptor of a packet socket or of an inotify watch is closed once every processor has passed by
(synchronize_rcu in net/packet/af_packet.c and fs/notify/mark.c): some ten milliseconds without work, that
nothing at the end of a run has to wait for.
"""

import os
import threading


def close_beside(*descriptors: int) -> None:
    """Close them soon, and return at once. They MUST be nobody else's any more."""
    closing = threading.Thread(target=_close, args=(descriptors,), name="closing", daemon=True)
    try:
        closing.start()
    except RuntimeError:  # no more threads are to be had
        _close(descriptors)


def _close(descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
