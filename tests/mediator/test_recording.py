"""The record before the mediator is there: the agent's input, searched as all else, and light to import."""

import subprocess
import sys
from datetime import UTC, datetime

from hark.bundle.events import Input
from hark.policy.model import HostRule, Policy
from mediator.ca import RunCA
from mediator.config import MediatorConfig
from mediator.credentials import Broker
from mediator.recording import ledger_of, taking
from mediator.serve import Mediator
from tests.fakes.recorder import ListRecorder
from tests.mediator.rig import loopback_sockets, secret

API = "api.example.test"
VALUE = "sk-real-5e884898da280471"


def test_input_is_recorded_and_one_with_a_secret_in_it_ends_the_run_in_words() -> None:
    config = MediatorConfig(Policy(allow_hosts=(HostRule(API),)), secrets=(secret(VALUE, API),))
    broker, recorder, fatal = Broker(config.secrets), ListRecorder(), []
    ledger = ledger_of(config, recorder, broker, fatal.append)
    take = taking(ledger)
    assert take("stdin", f"hello {VALUE[:12]}".encode(), False)
    assert recorder.of(Input) == [Input(source="stdin", data=f"hello {VALUE[:12]}".encode())]
    assert not take("stdin", VALUE[12:].encode(), False)
    assert not take("stdin", b"", True)
    assert len(recorder.of(Input)) == 1
    words = "an event with the real value of secrets.API_KEY in it was not recorded"
    assert fatal == [f"what came in by stdin could not be recorded: {words}"]


def test_a_mediator_that_comes_later_goes_on_with_it() -> None:
    config, recorder, broker = MediatorConfig(Policy()), ListRecorder(), Broker(())
    ledger = ledger_of(config, recorder, broker, print)
    assert taking(ledger)("stdin", b"before", False)
    ca = RunCA.create(datetime.now(UTC))
    mediator = Mediator(config, loopback_sockets(), recorder, ca, print, broker=broker, ledger=ledger)
    ledger.warn("said before")
    mediator.start()
    mediator.stop()
    assert mediator.summary().warnings == ("said before",)


def test_it_loads_no_event_loop() -> None:
    code = "import sys, {0}\nprint(*sys.modules)"
    loaded = {
        name: subprocess.run(
            [sys.executable, "-c", code.format(name)], capture_output=True, check=True, text=True
        ).stdout.split()
        for name in ("mediator.recording", "mediator.serve")
    }
    heavy = {"asyncio", "ssl", "concurrent.futures", "logging"}
    assert not heavy & set(loaded["mediator.recording"])
    assert heavy <= set(loaded["mediator.serve"])
