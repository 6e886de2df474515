"""A value in an answer of a server that it does not belong to, guessed or leaked: the run ends at once."""

import base64

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, Upstream, serving

MINE, OWNER, VALUE = "mine.example.test", "db.example.test", "Geheim-31337"
GUESSING = f"""
import base64, http.client, ssl
tried = [f"Geheim-{{n}}" for n in range(30937, 31638, 100)]
host = http.client.HTTPSConnection("{MINE}", context=ssl.create_default_context())
for guess in tried:
    host.request("POST", "/decode", base64.b85encode(guess.encode()))
    back = host.getresponse().read().decode()
    print(guess, "is wrong" if back == guess else "is right", flush=True)
"""
"""The list goes up in a disguise that nothing looks through, and the agent's own server takes that off."""


def _decoding(upstream: Upstream) -> None:
    def decode(call: Call) -> None:
        call.reply(200, base64.b85decode(call.body), [("Content-Type", "text/plain")])

    upstream.routes["/decode"] = decode


def _guessing(at: Desk, upstream: Upstream, bound: str) -> list[str]:
    _decoding(upstream)
    at.env["DB_PASSWORD"] = VALUE
    at.write("agent.py", GUESSING)
    policy = f'[secrets.DB_PASSWORD]\nhosts = ["{bound}"]\n'
    return at.toward(upstream, MINE, OWNER, policy=policy)


def test_an_agent_whose_server_decodes_guesses_for_it_is_ended_at_the_right_one(rootless: Desk) -> None:
    at = rootless
    with serving(MINE) as upstream:
        ended = ok(at.run(*_guessing(at, upstream, OWNER), "--", "python3", "agent.py"), 124)
    assert "is right" not in ended.stdout
    assert ended.stdout.count("is wrong") == 4, "the control: wrong ones pass, and nothing is said of them"
    assert f"secrets.DB_PASSWORD came in an answer of {MINE}:443, to which it is not bound" in ended.stderr
    assert VALUE.encode() not in at.bundle.read_bytes()
    (end,) = at.events("RunEnd")
    assert end["reason"].startswith("interrupted: secrets.DB_PASSWORD came in an answer of")
    (*_, last) = at.events("LlmResponseEnd")
    assert last["error"] == "the server sent the value of secrets.DB_PASSWORD, which is not bound to it"


def test_the_control_from_a_server_that_it_is_bound_to_it_comes_as_the_placeholder(rootless: Desk) -> None:
    at = rootless
    with serving(MINE) as upstream:
        ended = ok(at.run(*_guessing(at, upstream, MINE), "--", "python3", "agent.py"))
    assert (ended.stdout.count("is right"), ended.stdout.count("is wrong")) == (1, 7)
    assert VALUE.encode() not in at.bundle.read_bytes()


def test_a_replay_of_such_a_run_ends_there_too(rootless: Desk) -> None:
    at = rootless
    with serving(MINE) as upstream:
        first = ok(at.run(*_guessing(at, upstream, OWNER), "--", "python3", "agent.py"), 124)
    again = at.hark("replay", at.bundle)
    assert "REPLAY-EQUAL" in ok(again).stderr
    assert again.stdout == first.stdout
