"""Traps 51 to 53: proofs of what was not checked, a log's bare word, and a rejected anchor that passes."""

import io
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from hark import prove
from hark.anchor import judge
from hark.bundle.footing import change_footer
from hark.bundle.frame import FRAME_HEAD
from hark.bundle.hashing import HASH_SIZE, leaf_hash
from hark.bundle.mmr import Mmr
from hark.bundle.walk import BundleFile
from hark.cli.main import entry
from hark.verify import VERIFIED, steps
from hark.verify import prove as core
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.hark.bundle.bundles import KEY, write
from tests.support.anchored import anchor_of, local

EVENT = 3


def _ran(*words: object) -> tuple[int, str]:
    """Exit code and standard output of a command."""
    with redirect_stdout(io.StringIO()) as shown, redirect_stderr(io.StringIO()):
        code = entry([*map(str, words)])
    return code, shown.getvalue()


def _edited_leaf() -> Outcome:
    """Edit an event and the leaf stored beside it, and have it proved."""
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name) / "run.hark", key=None)
        data = path.read_bytes()
        with BundleFile(str(path)) as file:
            at, frame = [(placed.offset, placed.frame) for placed in file.frames()][EVENT]
        payload = frame.payload.replace(b"evil.example", b"good.example")
        end = at + FRAME_HEAD.size + len(payload)
        leaf = leaf_hash(EVENT, frame.kind, payload)
        path.write_bytes(data[: at + FRAME_HEAD.size] + payload + leaf + data[end + HASH_SIZE :])
        code, shown = _ran("prove", "-seq", EVENT, path)
        return Outcome.seen(f"exit code {code}", succeeded=code == 0 and payload.hex() in shown)


def _stored_leaves_are_believed() -> AbstractContextManager[object]:
    real = core.verify

    def lenient(path: str, *args: object) -> object:
        mmr = Mmr()
        with BundleFile(path) as file:
            for placed in file.frames():
                mmr.append(placed.frame.leaf)
        return real(path)._replace(verdict=VERIFIED, root=mmr.root())

    return patch.object(core, "verify", lenient)


def _own_root() -> Outcome:
    """Hand in a proof of one's own making, which agrees with itself."""
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name) / "forged.hark", key=None)
        proof = Path(name) / "proof.json"
        _ran("prove", "-seq", EVENT, "-out", proof, path)
        code, shown = _ran("prove", "-check", proof)
        return Outcome.seen(shown.partition("\n")[0], succeeded=code == 0 and shown.startswith("PROVED"))


def _any_root_will_do() -> AbstractContextManager[object]:
    real = prove.check
    return patch.object(
        prove, "check", lambda *a, **n: real(*a, **n)._replace(source=prove.FROM_OUTSIDE, pinned=True)
    )


def _verified(lie: str) -> Outcome:
    """Verify a signed bundle whose anchor the log lied about."""
    with tempfile.TemporaryDirectory() as name:
        log, path = local(Path(name) / "log"), write(Path(name) / "run.hark")

        def add_anchor(footer):  # type: ignore[no-untyped-def]
            return footer._replace(anchors=(anchor_of(log, footer.tree_head, KEY, lie=lie),))

        change_footer(str(path), add_anchor)
        code, shown = _ran("verify", "-trusted-root", log.trusted_root, "-key", KEY.public_key.hex(), path)
    first = shown.partition("\n")[0]
    if not first.startswith(("VERIFIED", "REJECTED")):
        return Outcome(Verdict.UNKNOWN, f"exit code {code}, {first!r}")
    return Outcome.seen(first, succeeded=code == 0 or "VERIFIED" in shown)


def _lied(lie: str) -> Callable[[], Outcome]:
    return lambda: _verified(lie)


def _no_step(name: str) -> Callable[[], AbstractContextManager[object]]:
    return lambda: patch.object(judge, name, lambda *_: None)


def _rejections_are_forgotten() -> AbstractContextManager[object]:
    return patch.object(steps, "check_anchors", lambda *_, **__: [])


add(
    51,
    "prove an event whose stored leaf was edited",
    _edited_leaf,
    run_without(_stored_leaves_are_believed, _edited_leaf),
)
add(51, "check a proof that brings its own root", _own_root, run_without(_any_root_will_do, _own_root))
for _lie, _step, _words in (
    ("checkpoint", "_check_checkpoint", "a checkpoint that a stranger signed"),
    ("root", "_check_included", "a root that the proof does not lead to"),
    ("proof", "_check_included", "a proof with one bit turned"),
):
    add(52, f"anchor with {_words}", _lied(_lie), run_without(_no_step(_step), _lied(_lie)))
add(
    53,
    "have a rejected anchor pass",
    _lied("checkpoint"),
    run_without(_rejections_are_forgotten, _lied("checkpoint")),
)
