"""Loses a connection in the middle of an answer, with and without a length, then asks again from there."""

import http.client
import json

said = []
for path in ("/long", "/chunked", "/long"):
    connection = http.client.HTTPSConnection("api.example", timeout=60)
    body = b""
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        while piece := answer.read1(65536):
            body += piece
        if len(body) < int(answer.getheader("Content-Length") or 0):  # read1 of the first 3.12s says nothing
            raise http.client.IncompleteRead(b"")
        said.append(f"{path} whole {len(body)}")
    except (http.client.HTTPException, OSError) as error:
        said.append(f"{path} {type(error).__name__} after {len(body)}")
    connection.close()
print("\n".join(said))
connection = http.client.HTTPSConnection("api.example", timeout=60)
connection.request("POST", "/report", json.dumps(said))
print(connection.getresponse().status)
