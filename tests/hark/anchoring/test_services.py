import json

import pytest

from hark.anchoring.services import Choice, Service, configured, named
from hark.errors import UsageError
from hark.verify.anchor import public_data

NOW = 1_800_000_000.0


def service(url, version=1, operator="one", **period):
    return {
        "url": url,
        "majorApiVersion": version,
        "operator": operator,
        "validFor": {"start": "2020-01-01T00:00:00Z"} | period,
    }


def config(**parts):
    value = {"mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json"} | parts
    return json.dumps(value).encode()


def test_the_public_config_names_a_log_a_clock_and_an_authority():
    services = configured(public_data("signing_config.v0.2.json"), NOW)
    assert services.logs.services
    assert services.clocks.services
    assert services.authorities.services
    assert services.logs.needed == 1


def test_of_each_operator_the_highest_version_that_is_valid_counts():
    logs = [
        service("https://a", 1),
        service("https://b/", 2),
        service("https://c", 3),
        service("https://d", 2, end="2021-01-01T00:00:00Z"),
        service("https://e", 1, "two"),
        service("https://f", 2, "three", start="2099-01-01T00:00:00Z"),
    ]
    found = configured(config(rekorTlogUrls=logs), NOW).logs
    assert found == Choice((Service("https://b", 2), Service("https://e", 1)), 1)


@pytest.mark.parametrize(
    ("selector", "needed"),
    [({"selector": "ANY"}, 1), ({"selector": "ALL"}, 2), ({"selector": "EXACT", "count": 2}, 2), ({}, 1)],
)
def test_the_config_says_how_many(selector, needed):
    logs = [service("https://a"), service("https://b", operator="two")]
    assert configured(config(rekorTlogUrls=logs, rekorTlogConfig=selector), NOW).logs.needed == needed


def test_more_than_there_are_is_refused():
    with pytest.raises(UsageError, match="asks for 3"):
        configured(
            config(rekorTlogUrls=[service("https://a")], rekorTlogConfig={"selector": "EXACT", "count": 3}),
            NOW,
        )


@pytest.mark.parametrize("data", [b"", b"{}", config(rekorTlogUrls=[{}]), config(rekorTlogUrls=[service(5)])])
def test_what_is_no_config_is_refused(data):
    with pytest.raises(UsageError, match="signing-config"):
        configured(data, NOW)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://log/", Service("https://log", 0)),
        ("https://log/api/v1", Service("https://log", 1)),
        ("https://log/api/v2/", Service("https://log", 2)),
    ],
)
def test_a_log_is_named_with_or_without_its_version(url, found):
    services = named(url, ("https://clock", "https://other"))
    assert services.logs == Choice((found,), 1)
    assert services.clocks.needed == 2
    assert services.authorities.services == ()


@pytest.mark.parametrize("url", ["log.example", "foo", "ftp://log.example", "https://", "http://[::1"])
def test_what_is_no_address_of_a_server_is_refused_before_anything_begins(url):
    with pytest.raises(UsageError, match=r"^-rekor .* is no address of a server: it begins with https://"):
        named(url, ())
    with pytest.raises(UsageError, match=r"^-tsa "):
        named("https://log.example", ("https://clock.example", url))
