"""Traps 28 to 30: a secret that is no secret, its hash in a shared file, and its value in our own words."""

import contextlib
import http.client
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from blake3 import blake3

from hark.bundle.assemble import Assembler
from hark.bundle.events import LlmRequest, SecretInjected, encode
from hark.bundle.hashing import leaf_hash
from hark.bundle.header import Header
from hark.bundle.redact import redact
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.errors import HarkError, PolicyError
from mediator import credentials, exchange, handler
from mediator.credentials import Broker, Injection
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.fakes.upstream import serving
from tests.mediator.rig import API, PLACEHOLDER, VALUE, Rig, pair, running, secret
from tests.support.waiting import until

GUESSES: Final = ("sk-test-0000000000000000", "hunter2-hunter2-hunter2", VALUE)
"""What a reader tries: of a key that was leaked elsewhere, whether this run held it."""
GUESSED: Final = LlmRequest(host="crm.example", method="GET", path="/customers/ada", exchange=1)


def _everything_a_leak(value: str) -> Callable[[], Outcome]:
    """Have hark hold a value that stands in ordinary traffic: every run with it ends."""

    def attempt() -> Outcome:
        held = secret(value, API)
        try:
            with pair(secrets=(held,)) as (rig, _), rig.https() as client:
                rig.recorder.guard = rig.mediator.broker.guard
                with contextlib.suppress(OSError, http.client.HTTPException):
                    client.request("GET", f"/?page={value}")
                    client.getresponse().read()
                until(lambda: rig.fatal or rig.recorder.of(LlmRequest), "the run's end or a request")
                return Outcome.seen(f"the run ended: {rig.fatal}", succeeded=bool(rig.fatal))
        except PolicyError as error:
            return Outcome(Verdict.REFUSED, str(error))

    return attempt


def _hash_guessed() -> Outcome:
    """Hold each guess against the hash of what was injected."""
    with pair(secrets=(secret(VALUE, API),)) as (rig, _), rig.https() as client:
        client.request("GET", "/", headers={"X-Key": PLACEHOLDER})
        client.getresponse().read()
        (injected,) = rig.recorder.of(SecretInjected)
    found = [guess for guess in GUESSES if blake3(guess.encode()).digest() == injected.value_hash]
    return Outcome.seen(f"{len(found)} of {len(GUESSES)} guesses fit", succeeded=bool(found))


def _redacted_guessed() -> Outcome:
    """Hold a guessed event against the leaf of one that was taken out of a shared copy."""
    with tempfile.TemporaryDirectory() as name:
        whole, copy = Path(name) / "whole.hark", Path(name) / "copy.hark"
        with Writer.create(str(whole), Header(run_id="guess")) as writer:
            writer.append(GUESSED)
            writer.seal("exit")
        redact(str(whole), [0], str(copy))
        with BundleFile(str(copy)) as file:
            frame = next(iter(file.frames())).frame
    guess = leaf_hash(frame.seq, frame.kind, encode(GUESSED))
    gone = not frame.payload
    return Outcome.seen("the payload is gone" if gone else "it is there", succeeded=guess == frame.leaf)


def _told_in_an_error() -> Outcome:
    """Run into a bug whose message quotes what was on the wire; read what the operator is told."""

    def quoting(*_: object, **__: object) -> Any:
        raise ValueError(f"cannot read {VALUE!r}")

    with patch.object(exchange.Exchange, "_on_answer", quoting), _asked() as rig:
        until(lambda: rig.fatal, "the run's end")
        return Outcome.seen("the run ended with a sentence", succeeded=VALUE in str(rig.fatal))


@contextmanager
def _asked() -> Iterator[Rig]:
    """Make one request with the value in it."""
    with (
        serving(API) as upstream,
        running(
            API, upstreams={API: upstream.address}, roots=upstream.ca_pem, secrets=(secret(VALUE, API),)
        ) as rig,
        rig.https() as client,
    ):
        with contextlib.suppress(OSError, http.client.HTTPException):
            client.request("GET", "/", headers={"X-Key": PLACEHOLDER})
            client.getresponse().read()
        yield rig


def _told_of_a_bad_one() -> Outcome:
    """Give hark a value with the line break that it had in its file."""
    value = f"{VALUE}\n{VALUE}"
    try:
        Broker([secret(value, API)])
    except HarkError as error:
        return Outcome.seen("refused in a sentence", succeeded=VALUE in str(error))
    return Outcome(Verdict.UNKNOWN, "it was taken")


def _pickled() -> Outcome:
    """Write down what holds the values, as crash reports and worker pools do."""
    import pickle

    try:
        written = pickle.dumps(Broker([secret(VALUE, API)]))
    except (TypeError, AttributeError) as error:
        return Outcome(Verdict.REFUSED, str(error))
    return Outcome.seen(f"{len(written)} bytes", succeeded=VALUE.encode() in written)


def _printed() -> Outcome:
    """Print a value's holder, as a traceback with local variables does."""
    text = repr(Broker([secret(VALUE, API)])) + repr(secret(VALUE, API))
    return Outcome.seen("printed", succeeded=VALUE in text)


def _unkeyed(_broker: Broker, pair: Any) -> Injection:
    return Injection(f"secrets.{pair.name}", pair.old.decode(), blake3(pair.new).digest())


def _quoted(error: BaseException) -> str:
    return str(error)


def _values_of(broker: Broker) -> str:
    return repr([held.value for held in broker.held()])


def _as_any_object() -> AbstractContextManager[object]:
    """Hold values as an ordinary object does: what prints or copies it has them too."""
    copied = lambda broker: (str, (_values_of(broker),))  # noqa: E731
    return patch.multiple(Broker, __reduce__=copied, __repr__=_values_of)


def _quoting_check(name: str, value: str) -> None:
    raise PolicyError(f"secrets.{name} is not fit: {value!r}")


def _without(owner: object, name: str, instead: object) -> Callable[[], AbstractContextManager[object]]:
    return lambda: patch.object(owner, name, instead)


UNCHECKED: Final = _without(credentials, "check_value", lambda *_: None)
QUOTED_VALUE: Final = _without(credentials, "check_value", _quoting_check)
QUOTED_BUG: Final = _without(handler, "_words", _quoted)
UNKEYED: Final = _without(Broker, "_injection", _unkeyed)
UNSALTED: Final = _without(Assembler, "_salt", lambda *_: b"")

for _value in ("e", "12121212"):
    _run = _everything_a_leak(_value)
    add(28, f"hold a secret that stands in any traffic: {_value}", _run, run_without(UNCHECKED, _run))

add(29, "guess a key by its hash in the record", _hash_guessed, run_without(UNKEYED, _hash_guessed))
add(
    29,
    "guess an event that was redacted by its leaf",
    _redacted_guessed,
    run_without(UNSALTED, _redacted_guessed),
)
add(30, "have a bug's message tell the value", _told_in_an_error, run_without(QUOTED_BUG, _told_in_an_error))
add(
    30,
    "have a refusal of a value quote it",
    _told_of_a_bad_one,
    run_without(QUOTED_VALUE, _told_of_a_bad_one),
)
add(30, "have the values copied with what holds them", _pickled, run_without(_as_any_object, _pickled))
add(30, "have the values printed with what holds them", _printed, run_without(_as_any_object, _printed))
