"""A wildcard's names: resolved when asked for, served over TLS under their own names, and no others."""

import pytest
from dnslib import RCODE

from hark.policy.model import Rule
from tests.fakes.upstream import serving
from tests.mediator.rig import running

RULE = Rule("*.example.test", name="allow 1: *.example.test")


def test_a_name_under_a_wildcard_is_reached_under_its_own_name() -> None:
    with (
        serving("one.example.test") as upstream,
        running(
            rules=(RULE,), upstreams={"one.example.test": upstream.address}, roots=upstream.ca_pem
        ) as rig,
        rig.https("one.example.test") as client,
    ):
        client.request("GET", "/x")
        assert client.getresponse().status == 200
        assert upstream.seen[0].sni == "one.example.test"


@pytest.mark.parametrize(
    "name",
    ["example.test", "a.one.example.test", "exampleXtest", "one.example.test.evil.test", "xexample.test"],
)
def test_what_only_looks_as_if_it_stood_under_a_wildcard_does_not_exist(name: str) -> None:
    with running(rules=(RULE,)) as rig:
        assert rig.ask(name).header.rcode == RCODE.NXDOMAIN
        assert rig.ask("one.example.test").header.rcode == RCODE.NOERROR


def test_a_connection_for_one_name_serves_no_other_under_the_same_wildcard() -> None:
    names = ("one.example.test", "two.example.test")
    with (
        serving(*names) as upstream,
        running(
            rules=(RULE,), upstreams=dict.fromkeys(names, upstream.address), roots=upstream.ca_pem
        ) as rig,
        rig.https(names[0]) as client,
    ):
        client.request("GET", "/", headers={"Host": names[1]})
        refused = client.getresponse()
        assert refused.status == 403
        assert b"the connection was made to one.example.test" in refused.read()
        assert upstream.seen == []
