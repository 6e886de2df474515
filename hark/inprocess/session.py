"""The test's side of one recording or replay: starts the attendant, redirects, and hears the verdict.

Always: the test runs between `begin` and `finish`, or the attendant is gone. What the policy has a secret for
stands in the environment as its placeholder meanwhile, and no proxy of the caller's stands there.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Final

from hark.errors import HarkError
from hark.inprocess import guard as guarding
from hark.inprocess import own, words
from hark.inprocess.guard import Guard, Over
from hark.inprocess.redirect import Redirection
from hark.inprocess.words import Job, Verdict
from launcher import wire

WAIT_S: Final = 600.0
"""For the attendant: it starts in a second, and a verdict on a long recording takes some."""
CLOSE_S: Final = 10.0
"""For an attendant whose test is gone, before it is killed."""
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "ws_proxy", "wss_proxy")


class AttendantError(HarkError):
    """The test could not be attended, or its attendant has gone."""


class Session:
    """One test's."""

    def __init__(self, job: Job, programs: Sequence[str] = ()) -> None:
        self._job = job
        self._guard = Guard(programs)
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None
        self._redirection: Redirection | None = None
        self._ports: dict[int, int] = {}
        self._environ: dict[str, str | None] = {}
        self._exposed: set[tuple[str, int]] = set()

    def begin(self) -> None:
        """Start the attendant and redirect to it. Raises AttendantError, with nothing changed."""
        self._refuse_open()
        self._exposed = own.exposed()
        try:
            self._start()
            ready = self._hear(words.READY)
        except BaseException:
            self.close()
            raise
        four, six, authority, environment = ready.fields
        self._ports = {socket.AF_INET: int(four), socket.AF_INET6: int(six)}
        for name, value in json.loads(environment).items():
            self._set(name, value)
        for name in [name for name in os.environ if name.lower() in _PROXIES]:
            self._set(name, None)
        self._redirection = Redirection(self._guard, self._dial, self._ports, authority)
        self._redirection.apply()
        guarding.begin(self._guard)

    def _refuse_open(self) -> None:
        """Refuse to begin where a connection is open that would pass everything by."""
        for _, address, port in own.connections():
            if not own.is_loopback(address):
                raise AttendantError(
                    f"this process has a connection to {address}:{port} from before the test, which would "
                    "not be recorded; make its client in the test"
                )

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(WAIT_S)
        self._channel = ours
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `close`)
        command = [sys.executable, "-B", "-P", "-m", "hark.inprocess", str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                cwd=self._job.workdir,
                stdin=subprocess.DEVNULL,
                stdout=self._words,
                stderr=self._words,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is the test's
            )
        wire.send(ours, words.JOB, json.dumps(self._job.said()))

    def _hear(self, wanted: str) -> wire.Message:
        """Return the next message. Raises AttendantError unless it is the one that is wanted."""
        if self._channel is None:
            raise AttendantError("the test has no attendant")
        try:
            message = wire.receive(self._channel)
        except TimeoutError:
            message = wire.Message(words.FAILED, (f"it said nothing for {WAIT_S:.0f} seconds",))
        if message.word == wanted:
            return message
        if message.word == words.FAILED:
            raise AttendantError(message.fields[0])
        raise AttendantError(f"hark's process for the test has gone: {self._last_words()}")

    def _last_words(self) -> str:
        if self._words is None:
            return ""
        self._words.seek(0)
        lines = self._words.read().decode(errors="backslashreplace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _dial(self, family: int, local: int, address: str, port: int) -> None:
        with self._lock, guarding.passing():
            if self._channel is None:
                raise Over("hark: the run has ended")
            wire.send(self._channel, words.DIAL, str(int(family)), str(local), address, str(port))
            message = wire.receive(self._channel)
        if message.word != words.OK:
            raise Over(f"hark: the run has ended: {message.fields[0] if message.fields else 'it is gone'}")

    def _set(self, name: str, value: str | None) -> None:
        self._environ.setdefault(name, os.environ.get(name))
        _assign(name, value)

    def finish(self, exit_code: int) -> Verdict:
        """Undo all, and return the verdict on a test that ended so. Raises AttendantError."""
        try:
            past = self._unredirect()
            if self._channel is not None:
                wire.send(self._channel, words.ENDED, str(exit_code))
            said = json.loads(self._hear(words.VERDICT).fields[0])
        finally:
            self.close()
        found = [*dict.fromkeys((*self._guard.refusals, *past))]
        lines = (*(f"the test reached for {one}" for one in found), *said["lines"])
        failed = words.EXIT_FAILED if found else 0
        return Verdict(said["exit_code"] or failed, lines, strayed=bool(found or said["strayed"]))

    def _unredirect(self) -> list[str]:
        """Undo what was changed, end the test's connections, and return what passed all that by."""
        past = []
        if self._redirection is not None:
            past = [
                f"{address}:{port} by code that is not Python's, past what is recorded"
                for _, address, port in own.connections()
                if not own.is_loopback(address)
            ]
            past += [
                f"listening at {address}:{port}, where other machines could ask"
                for address, port in sorted(own.exposed() - self._exposed)
            ]
            guarding.end()
            self._redirection.undo()
            self._redirection = None
            own.end_those_to({port for port in self._ports.values() if port})
        for name, value in self._environ.items():
            _assign(name, value)
        self._environ.clear()
        return past

    def close(self) -> None:
        """Undo all, without a verdict: what was recorded is thrown away. Idempotent."""
        self._unredirect()
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSE_S)
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._words is not None:
            self._words.close()
            self._words = None


def _assign(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
