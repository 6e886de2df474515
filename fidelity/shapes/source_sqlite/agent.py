"""Asks sqlite for chance and for the time."""

import json
import sqlite3
import urllib.request

store = sqlite3.connect("notes.db")
LAST = "select hex(id), at, random(), datetime('now'), julianday('now') from notes order by rowid desc"
store.execute("create table notes (id blob default (randomblob(8)), at text default current_timestamp)")
for turn in range(2):
    store.execute("insert into notes default values")
    store.commit()
    row = store.execute(LAST).fetchone()
    with urllib.request.urlopen("https://api.example/rows", json.dumps(row).encode(), timeout=60) as answer:
        print(turn, answer.status, len(answer.read()), row)
