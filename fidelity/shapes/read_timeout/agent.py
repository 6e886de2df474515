"""Gives up on an answer that does not come and on one that stops, says so to the server, and goes on."""

import http.client
import json


def get(path: str, seconds: float) -> str:
    """GET on a connection that is up, with this long for each read; or what went wrong."""
    connection = http.client.HTTPSConnection("api.example", timeout=60)
    connection.connect()
    connection.sock.settimeout(seconds)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read().decode()
    except TimeoutError as error:
        return f"gave up: {error}"
    finally:
        connection.close()


said = [get("/never", 1.5), get("/half", 2.0), get("/at-once", 20)]
print("\n".join(said))
connection = http.client.HTTPSConnection("api.example", timeout=60)
connection.request("POST", "/report", json.dumps(said))
print(connection.getresponse().status)
