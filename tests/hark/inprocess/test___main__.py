"""The program that attends: it ends with the channel, and says nothing."""

import socket
import subprocess
import sys


def test_an_attendant_whose_test_is_gone_ends_at_once() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "hark.inprocess", str(theirs.fileno())]
        ours.close()
        done = subprocess.run(
            command, pass_fds=(theirs.fileno(),), capture_output=True, timeout=60, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
