"""Keeps answers in a file of the project by their URL and asks again only for what is not there."""

import json
import sqlite3
import urllib.request

store = sqlite3.connect("cache.db")
store.execute("create table if not exists kept (url text primary key, body text)")


def get(url: str) -> str:
    """From the cache, or from the server and then into the cache."""
    row = store.execute("select body from kept where url = ?", (url,)).fetchone()
    if row:
        return f"hit {row[0]}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        body = answer.read().decode()
    store.execute("insert into kept values (?, ?)", (url, body))
    store.commit()
    return f"miss {body}"


said = [get(f"https://api.example/page/{name}") for name in ("a", "b", "a", "a", "b", "c")]
print("\n".join(said))
with urllib.request.urlopen("https://api.example/done", json.dumps(said).encode(), timeout=60) as answer:
    print(answer.status, answer.read().decode()[:20])
