"""A request between mitmproxy's message and ours: what is judged of it, and the head that is sent on.

Always: what is sent is built anew from what was judged; nothing else of the agent's message goes along.
"""

from mitmproxy import http
from mitmproxy.net.http.validate import validate_headers

from hark.policy.decide import Deny
from mediator.judgement import Asked, Forward, Refusal, judge
from mediator.link import Link


def judged(request: http.Request, link: Link) -> Forward | Refusal:
    """Judge a request as mitmproxy read it."""
    try:
        validate_headers(request)
    except ValueError:
        return Refusal(400, Deny("its headers can be read in two ways", ""))
    data = request.data
    asked = Asked(
        method=data.method,
        scheme=data.scheme,
        authority=data.authority,
        path=data.path,
        headers=tuple(request.headers.fields),
    )
    return judge(asked, link)


def head(request: http.Request, forward: Forward, link: Link, *, chunked: bool) -> http.Request:
    """Return the head to send. `chunked` is for a body whose length HTTP/2 did not need to say."""
    framing = ((b"transfer-encoding", b"chunked"),) if chunked else ()
    return http.Request(
        host=link.target.host,
        port=link.target.port,
        method=request.data.method,
        scheme=link.protocol.encode(),
        authority=request.data.authority if request.is_http2 else b"",
        path=request.data.path,
        http_version=request.data.http_version,
        headers=forward.headers + framing,
        content=None,
        trailers=None,
        timestamp_start=0,
        timestamp_end=None,
    )
