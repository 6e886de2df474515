"""Reads an event stream as it comes, and tells the server afterwards in which pieces it came."""

import hashlib
import http.client
import json

connection = http.client.HTTPSConnection("api.example", timeout=60)
connection.request("POST", "/stream", json.dumps({"stream": True}))
answer = connection.getresponse()
print(answer.status, answer.getheader("content-type"))
pieces = []
while piece := answer.read1(65536):
    pieces.append(piece)
    print(len(piece), piece.decode().strip().replace("\n", " | "))
digest = hashlib.sha256(b"".join(pieces)).hexdigest()
connection.request("POST", "/done", json.dumps({"pieces": [len(piece) for piece in pieces], "hash": digest}))
print(connection.getresponse().read().decode())
