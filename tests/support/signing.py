"""The signature that botocore gives a request that was seen: the second opinion on what hark signed."""

import re

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.fakes.upstream import Seen


def signature_of(seen: Seen, key: str, service: str, region: str) -> str:
    """Sign a request as it was seen with this key, over the headers that it says were signed, at its time."""
    named = re.search(r"SignedHeaders=([^,]+)", str(seen.header("authorization")))
    assert named is not None
    headers = {name: str(seen.header(name)) for name in named[1].split(";")}
    request = AWSRequest(seen.method, f"https://{seen.header('host')}{seen.path}", headers, seen.body)
    request.context["timestamp"] = seen.header("x-amz-date")
    auth = SigV4Auth(Credentials("unused", key), service, region)
    words = auth.string_to_sign(request, auth.canonical_request(request))
    signature: str = auth.signature(words, request)
    return signature
