"""Feed the readers of hostile bytes a million inputs. Run: python -m tests.bench.fuzz_bundle [-runs=N]
[target ...]

Coverage-guided with atheris where it is installed (x86-64, up to Python 3.13), else by mutation of the corpus
alone, which is said. Anything but a HarkError that comes out is a crash, as is CBOR that decodes and does
not encode back. Targets: cbor, frame, event, proof, bundle.
"""

import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable

from hark.errors import HarkError

try:
    import atheris
except ImportError:
    atheris = None

with atheris.instrument_imports() if atheris else contextlib.nullcontext():
    from hark.bundle import cbor, events, frame, proof
    from hark.bundle.header import decode_footer
    from hark.bundle.synth import synthesize
    from hark.bundle.tree_head import SigningKey
    from hark.verify import steps

RUNS = 1_000_000
ARTIFACTS = (
    f"-artifact_prefix={tempfile.gettempdir()}/hark-fuzz-"  # an input that crashed; libFuzzer names it
)


def fuzz_cbor(data: bytes) -> None:
    """What decodes is written back as it was."""
    value = cbor.decode(data)
    if cbor.encode(value) != data:
        raise AssertionError(data.hex())


def fuzz_frame(data: bytes) -> None:
    """A frame is packed as it was."""
    one = frame.unpack(data)
    if one is not None and frame.pack(one) != data[: one.size]:
        raise AssertionError(data.hex())
    decode_footer(data)


def fuzz_event(data: bytes) -> None:
    """An event that decodes encodes to one that decodes to the same."""
    if data:
        event = events.decode(data[0], data[1:])
        if events.decode(data[0], events.encode(event)) != event:
            raise AssertionError(data.hex())


def fuzz_proof(data: bytes) -> None:
    """A proof file is read or refused."""
    file = proof.from_json(data)
    proof.root_of(file.proof, file.leaf_hash)


SCRATCH = os.memfd_create("fuzz")


def fuzz_bundle(data: bytes) -> None:
    """A file gets a verdict, or is refused."""
    os.ftruncate(SCRATCH, 0)
    os.pwrite(SCRATCH, data, 0)
    result = steps.verify(f"/proc/self/fd/{SCRATCH}", workers=0)
    if not result.line().isprintable():
        raise AssertionError(data.hex())


TARGETS: dict[str, Callable[[bytes], None]] = {
    "cbor": fuzz_cbor,
    "frame": fuzz_frame,
    "event": fuzz_event,
    "proof": fuzz_proof,
    "bundle": fuzz_bundle,
}


def bundles() -> list[bytes]:
    """Small bundles, sealed and signed."""
    found = []
    with tempfile.TemporaryDirectory() as directory:
        for events in (3, 5, 9):
            path = os.path.join(directory, str(events))
            synthesize(path, events, 60, SigningKey(bytes(32)))
            with open(path, "rb") as file:
                found.append(file.read())
    return found


def corpus(target: str) -> list[bytes]:
    """What a target starts from."""
    zeros = [bytes((kind.number,)) + events.encode(kind.event()) for kind in events.KINDS]
    nested = cbor.encode({1: [None, True, -5, "text", b"bytes", {"a": 1 << 40}], 2: {}})
    match target:
        case "bundle":
            return bundles()
        case "frame":
            return [data[frame.LENGTH.size + len(frame.MAGIC) + 40 :] for data in bundles()]
        case "proof":
            leaves = [bytes((number,)) * 32 for number in range(13)]
            proofs = [proof.build(leaves, index, 13) for index in range(13)]
            return [proof.to_json(proof.ProofFile("R", bytes(32), bytes(32), one)).encode() for one in proofs]
        case "event":
            return zeros
        case _:
            return [nested, *(zero[1:] for zero in zeros)]


def ours_only(target: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """`target`, with the errors that it may raise taken off."""

    def one(data: bytes) -> None:
        with contextlib.suppress(HarkError):
            target(data)

    return one


def mutate(seeds: list[bytes], dice: random.Random) -> bytes:
    """A seed with some of its bytes changed, doubled, cut out or taken from another."""
    data = bytearray(dice.choice(seeds))
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + dice.choice((1, 1, 1, 4, 8, 40)))
        match dice.randrange(5):
            case 0:
                data[at:end] = dice.randbytes(end - at)
            case 1:
                data[at:at] = data[at:end]
            case 2:
                del data[at:end]
            case 3:
                data[at:end] = dice.choice((b"\xff" * 4, b"\x00" * 8, b"\x9b\xff", b"\xa1\x01", b"\x81" * 20))
            case _:
                other = dice.choice(seeds)
                data[at:end] = other[at:end]
    return bytes(data)


def by_mutation(names: list[str], runs: int) -> None:
    """Without coverage: each target gets its share of the runs."""
    dice = random.Random(20250817)
    for name in names:
        seeds = corpus(name)
        one, start = ours_only(TARGETS[name]), time.perf_counter()
        for _ in range(runs // len(names)):
            data = mutate(seeds, dice)
            try:
                one(data)
            except BaseException:
                print(f"{name}: crashed on {data.hex()}")
                raise
        seconds = time.perf_counter() - start
        print(f"{name}: {runs // len(names)} runs in {seconds:.0f} s, nothing but ours came out")


def by_coverage(names: list[str], runs: int) -> None:
    """With atheris: a process for each target, since libFuzzer ends the one that it runs in."""
    for name in names:
        if os.fork() == 0:
            with tempfile.TemporaryDirectory() as directory:
                for number, data in enumerate(corpus(name)):
                    with open(os.path.join(directory, str(number)), "wb") as file:
                        file.write(data)
                atheris.Setup(
                    [
                        sys.argv[0],
                        f"-runs={runs // len(names)}",
                        "-max_len=4096",
                        "-verbosity=0",
                        ARTIFACTS,
                        directory,
                    ],
                    ours_only(TARGETS[name]),
                )
                atheris.Fuzz()
        status = os.waitstatus_to_exitcode(os.wait()[1])
        print(f"{name}: {runs // len(names)} runs with coverage, exit status {status}", flush=True)
        if status:
            sys.exit(status)


def main(arguments: list[str]) -> None:
    """Run the targets named, or all."""
    names = [argument for argument in arguments if not argument.startswith("-")] or list(TARGETS)
    runs = next((int(argument[6:]) for argument in arguments if argument.startswith("-runs=")), RUNS)
    if atheris is None:
        print("atheris is not installed: mutation without coverage")
        by_mutation(names, runs)
    else:
        by_coverage(names, runs)


if __name__ == "__main__":
    main(sys.argv[1:])
