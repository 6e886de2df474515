"""Headers that count: all but what the table names, sorted, and signatures without date and signature."""

from pathlib import Path

import pytest

from hark.replay.headers import LEFT_OUT, counting, left_out

NONE = frozenset()


def counted(*fields, ignored=NONE):
    return counting([(name.encode(), value.encode()) for name, value in fields], ignored)


def test_what_counts_is_sorted_by_name_and_in_order_within_one():
    fields = (("X-B", "2"), ("Accept", " a "), ("x-b", "1"), ("X-B", "3"))
    assert counted(*fields) == ((b"accept", b"a"), (b"x-b", b"2"), (b"x-b", b"1"), (b"x-b", b"3"))


@pytest.mark.parametrize("rule", LEFT_OUT, ids=lambda rule: rule.name)
def test_what_a_rule_covers_never_counts(rule):
    for name in rule.covers:
        full = name.replace("*", "some")
        assert left_out(full)
        assert counted((full.upper(), "1")) == ()


@pytest.mark.parametrize(
    "name",
    ["accept", "accept-encoding", "authorization", "content-type", "anthropic-version", "anthropic-beta",
     "openai-beta", "openai-organization", "x-goog-user-project", "x-goog-api-key", "x-api-key", "cookie",
     "if-none-match", "x-github-api-version", "mcp-session-id", "last-event-id", "range", "x-amz-target",
     "x-amz-security-token", "sec-websocket-protocol", "upgrade", "origin", "referer",
     "x-http-method-override", "b3x", "dates", "expect"],
)  # fmt: skip
def test_what_says_which_answer_is_wanted_counts(name):
    assert not left_out(name)
    assert counted((name, "1")) != counted((name, "2"))
    assert counted((name, "1")) != ()


def test_the_policy_may_leave_out_more():
    assert counted(("X-Turn", "1"), ("A", "1"), ignored=frozenset(["x-turn"])) == ((b"a", b"1"),)


def test_a_key_that_is_drawn_for_each_request_counts_as_being_there():
    assert counted(("Idempotency-Key", "1")) == counted(("Idempotency-Key", "2"))
    assert counted(("Idempotency-Key", "1")) != ()


def test_crumbs_of_a_cookie_are_one_cookie():
    assert counted(("cookie", "a=1"), ("cookie", "b=2")) == counted(("Cookie", "a=1; b=2"))
    assert counted(("cookie", "b=2"), ("cookie", "a=1")) != counted(("Cookie", "a=1; b=2"))


SIGNED = "AWS4-HMAC-SHA256 Credential={}/{}/us-east-1/s3/aws4_request, SignedHeaders={}, Signature={}"


def signed(key="AKID", date="20260101", names="host;x-amz-date", signature="ab" * 32):
    return counted(("Authorization", SIGNED.format(key, date, names, signature)))


def test_date_and_signature_do_not_count_and_the_rest_of_a_signature_does():
    assert signed() == signed(date="20270202", signature="cd" * 32)
    assert signed() == signed(names="x-amz-date;host")
    assert signed() != signed(key="OTHER")
    assert signed() != signed(names="host")
    assert signed() != counted(("Authorization", SIGNED.format("AKID", "x", "host", "zz")))
    assert counted(
        ("Authorization", SIGNED.format("A", "20260101", "host", "ab").replace("us-east-1", "eu"))
    ) != (counted(("Authorization", SIGNED.format("A", "20260101", "host", "ab"))))


def test_a_hash_of_the_body_does_not_count_and_what_is_none_does():
    assert counted(("x-amz-content-sha256", "0" * 64)) == ()
    assert counted(("x-amz-content-sha256", "UNSIGNED-PAYLOAD")) != ()


def test_bytes_outside_utf8_and_names_that_are_none_are_kept():
    assert counting([(b"\xff", b"\x80"), (b"", b"")], NONE) == ((b"", b""), (b"\xff", b"\x80"))


def test_the_format_page_has_the_table_as_the_code_has_it():
    text = (Path(__file__).parents[3] / "docs" / "format.md").read_text()
    table = text.partition("<!-- headers -->")[2].partition("<!-- /headers -->")[0]
    rows = [
        f"| {rule.name} | {rule.why} | {', '.join(f'`{name}`' for name in rule.covers)} |"
        for rule in LEFT_OUT
    ]
    assert table.strip().splitlines()[2:] == rows
