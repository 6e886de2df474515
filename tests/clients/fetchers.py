"""Clients that fetch one page: each prints what https://api.example/hello answers."""

from collections.abc import Callable
from typing import Final

from tests.clients.kit import SEVERAL, Client, Kit

URL: Final = "https://api.example/hello"
SAYS: Final = "hello from the real server"


def _python(name: str, trust: str, code: str, *, package: str = "") -> Client:
    version = f"import importlib.metadata as m; print(m.version('{package}'))"
    return Client(
        name=name,
        program=lambda kit: kit.python,
        version=lambda kit: [kit.python, "-c", version] if package else [kit.python, "--version"],
        task=lambda kit: [kit.python, "task.py"],
        says=SAYS,
        trust=trust,
        files={"task.py": code},
    )


def _system(name: str, trust: str, *words: str, version: str = "--version") -> Client:
    return Client(
        name=name,
        program=lambda kit: kit.system(name.split(maxsplit=1)[0]),
        version=lambda kit: [kit.system(name.split(maxsplit=1)[0]), version],
        task=lambda kit: [kit.system(words[0]), *words[1:]],
        says=SAYS,
        trust=trust,
    )


def _at(path: str) -> Callable[[Kit], str]:
    return lambda kit: str(kit.folder / path)


URLLIB: Final = f"import urllib.request\nprint(urllib.request.urlopen('{URL}').read())"
SSL: Final = """
import socket, ssl

context = ssl.create_default_context()
plain = socket.create_connection(("api.example", 443))
with context.wrap_socket(plain, server_hostname="api.example") as tls, tls.makefile("rwb") as stream:
    stream.write(b"GET /hello HTTP/1.1\\r\\nHost: api.example\\r\\nConnection: close\\r\\n\\r\\n")
    stream.flush()
    print(stream.read())
"""
URLLIB3: Final = f"import urllib3\nprint(urllib3.request('GET', '{URL}').data)"
REQUESTS: Final = f"import requests\nprint(requests.get('{URL}').text)"
HTTPX: Final = f"import httpx\nprint(httpx.get('{URL}').text)"
AIOHTTP: Final = f"""
import aiohttp, asyncio

async def main():
    async with aiohttp.ClientSession() as session, session.get('{URL}') as answer:
        print(await answer.text())

asyncio.run(main())
"""
JAVA: Final = f"""
import java.net.URI;
import java.net.http.*;

class Fetch {{
    public static void main(String[] words) throws Exception {{
        var request = HttpRequest.newBuilder(URI.create("{URL}")).build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.body());
    }}
}}
"""
NODE_HTTPS: Final = f"require('https').get('{URL}', r => r.pipe(process.stdout))"
NODE_FETCH: Final = f"fetch('{URL}').then(r => r.text()).then(t => console.log(t))"
S_CLIENT: Final = (
    "printf 'GET /hello HTTP/1.1\\r\\nHost: api.example\\r\\nConnection: close\\r\\n\\r\\n' | "
    "openssl s_client -quiet -verify_return_error -connect api.example:443 -servername api.example"
)
CHROMIUM: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom")

FETCHERS: Final = (
    _system("curl", "CURL_CA_BUNDLE", "curl", "-sS", URL),
    _system("wget", SEVERAL, "wget", "-qO-", URL),
    _system("openssl s_client", "SSL_CERT_FILE", "sh", "-c", S_CLIENT, version="version"),
    _python("Python urllib", "SSL_CERT_FILE", URLLIB),
    _python("Python ssl", "SSL_CERT_FILE", SSL),
    _python("urllib3", "SSL_CERT_FILE", URLLIB3, package="urllib3"),
    _python("requests", "REQUESTS_CA_BUNDLE", REQUESTS, package="requests"),
    _python("httpx", "SSL_CERT_FILE", HTTPX, package="httpx"),
    _python("aiohttp", "SSL_CERT_FILE", AIOHTTP, package="aiohttp"),
    _system("node https", "NODE_EXTRA_CA_CERTS", "node", "-e", NODE_HTTPS),
    _system("node fetch", "NODE_EXTRA_CA_CERTS", "node", "-e", NODE_FETCH),
    Client(
        name="deno fetch",
        program=_at("py/bin/deno"),
        version=lambda kit: [kit.package("bin/deno"), "--version"],
        task=lambda kit: [kit.package("bin/deno"), "run", "--allow-net", "task.ts"],
        says=SAYS,
        files={"task.ts": f"console.log(await (await fetch('{URL}')).text())"},
    ),
    Client(
        name="Go net/http",
        program=_at("gofetch"),
        version=lambda kit: [kit.package("go/bin/go"), "version"],
        task=lambda kit: [str(kit.folder / "gofetch"), URL],
        says=SAYS,
    ),
    Client(
        name="Java HttpClient",
        program=lambda kit: kit.system("javac"),
        version=lambda kit: [kit.system("java"), "--version"],
        task=lambda kit: [kit.system("java"), "Fetch.java"],
        says=SAYS,
        trust="JAVA_TOOL_OPTIONS",
        files={"Fetch.java": JAVA},
    ),
    Client(
        name="headless Chromium",
        program=lambda kit: kit.system("chromium"),
        version=lambda kit: [kit.system("chromium"), "--version"],
        task=lambda kit: [kit.system("chromium"), *CHROMIUM, URL],
        says=SAYS,
        trust="its managed policy in /etc",
    ),
)
