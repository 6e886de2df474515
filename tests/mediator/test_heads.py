import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mitmproxy import http
from mitmproxy.net.http import http1

from mediator import heads

NAMES = st.sampled_from(
    [b"Host", b"content-length", b"Content-Length", b"Transfer-Encoding", b"X-A", b" X", b"\tX", b"", b"x y"]
)
VALUES = st.sampled_from(
    [
        b"a.test",
        b"0",
        b"12",
        b"012",
        b"+1",
        b"1, 1",
        b"",
        b" 7 ",
        b"chunked",
        b"gzip, chunked",
        b"gzip",
        b"\xff",
    ]
) | st.binary(max_size=4)
COLONS = st.sampled_from([b":", b": ", b" : ", b"", b"::"])
FIELD_LINES = st.lists(st.builds(lambda *parts: b"".join(parts), NAMES, COLONS, VALUES), max_size=4).map(
    lambda lines: [line for line in lines if line]  # an empty one ends the head
)
FIELDS = st.lists(st.tuples(NAMES.filter(len), VALUES), max_size=4).map(tuple)
METHODS = st.sampled_from([b"GET", b"POST", b"PUT", b"HEAD", b"CONNECT", b"get", b"head", b"OPTIONS"])
TARGETS = st.sampled_from([b"/", b"/a?b", b"*", b"a:1", b"https://a.test/x", b"a", b"/a b", b"\xff"])
VERSIONS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"http/1.1", b"HTTP/1.12", b""])
STATUSES = st.sampled_from([b"200", b"204", b"304", b"101", b"404", b"+20", b"2_0", b"20", b"0200", b"x"])


def told(read, *parts):
    """Return what is read, or that nothing is."""
    try:
        message = read(*parts)
    except ValueError as error:
        return str(error).partition(":")[0]  # behind it a text that is quoted, as bytes or not
    if not isinstance(message, http.Message):
        return message
    state = message.get_state()
    return {key: value for key, value in state.items() if not key.startswith("timestamp")}


@settings(max_examples=500)
@given(METHODS, TARGETS, VERSIONS, FIELD_LINES)
@example(b"GET", b"/", b"HTTP/1.1", [b"Host: a.test"])
def test_a_request_reads_as_in_mitmproxy(method, target, version, lines):
    head = [b" ".join((method, target, version)), *lines]
    assert told(heads.read_request, head) == told(http1.read_request_head, head)


@settings(max_examples=500)
@given(VERSIONS, STATUSES, st.sampled_from([b"", b" OK", b"  Not  Found "]), FIELD_LINES)
@example(b"HTTP/1.1", b"200", b" OK", [b"Content-Length: 3"])
def test_an_answer_reads_as_in_mitmproxy(version, status, reason, lines):
    head = [version + b" " + status + reason, *lines]
    assert told(heads.read_response, head) == told(http1.read_response_head, head)


@settings(max_examples=500)
@given(METHODS, FIELDS, st.integers(100, 599))
def test_bodies_are_as_long_as_in_mitmproxy(method, fields, status):
    asked = heads.request(method, b"/", fields)
    answer = http.Response(b"HTTP/1.1", status, b"", fields, None, None, 0, None)
    assert told(heads.announced, asked) == told(http1.expected_http_body_size, asked)
    assert told(heads.answer_announced, asked, answer) == told(http1.expected_http_body_size, asked, answer)


@given(METHODS, FIELDS, st.sampled_from([b"", b"a.test"]), st.integers(200, 599))
def test_heads_are_written_as_in_mitmproxy(method, fields, authority, status):
    asked = heads.request(method, b"/x", fields, scheme=b"https", authority=authority)
    assert heads.request_head(asked) == http1.assemble_request_head(asked)
    answer = http.Response(b"HTTP/1.1", status, b"So", fields, None, None, 0, None)
    assert heads.response_head(answer) == http1.assemble_response_head(answer)


def test_a_message_is_what_mitmproxy_would_make():
    fields = ((b"Host", b"a.test"), (b"X", b"y"))
    made = heads.request(b"GET", b"/", fields, host="a.test", port=443, scheme=b"https")
    other = http.Request("a.test", 443, b"GET", b"https", b"", b"/", b"HTTP/1.1", fields, None, None, 0, None)
    assert told(lambda: made) == told(lambda: other)
    assert made.headers["x"] == "y"
    made.headers["x"] = "z"
    assert other.headers["x"] == "y"


@pytest.mark.parametrize("line", [b"no colon", b" folded", b": no name"])
def test_a_line_that_is_no_field_goes_the_way_of_mitmproxy(line):
    head = [b"GET / HTTP/1.1", b"A: b", line]
    assert told(heads.read_request, head) == told(http1.read_request_head, head)
    if line != b" folded":
        with pytest.raises(ValueError, match="Invalid header"):
            heads.read_request(head)
