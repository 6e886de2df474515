"""A whole archive: in the order of the requests, and read by a reader of another hand."""

import json
from tempfile import TemporaryFile

import pytest
from haralyzer import HarParser

from hark.export.archive import archive
from tests.hark.export.story import ALLOWED, END, POST, TLS, chunk, frames

SECOND = POST._replace(path="/two", exchange=2, body=b"")


def written(*events):
    with TemporaryFile() as spool:
        return "".join(archive(frames(*events), "hark 1.2", "RUN", spool))


def test_entries_stand_in_the_order_of_their_requests_whichever_ended_first():
    text = written(TLS, ALLOWED, POST, SECOND, END._replace(exchange=2), chunk(b"a"), END)
    log = json.loads(text)["log"]
    assert [one["_hark"]["event"] for one in log["entries"]] == [6, 7]
    assert (log["version"], log["creator"]) == ("1.2", {"name": "hark", "version": "1.2"})
    assert text.isascii()


def test_a_run_without_a_request_is_an_archive_without_an_entry():
    assert json.loads(written())["log"]["entries"] == []


def test_a_reader_of_another_hand_reads_it():
    har = HarParser(
        json.loads(written(TLS, ALLOWED, POST, chunk(b"hello"), END, SECOND, END._replace(exchange=2)))
    )
    first, second = har.har_data["entries"]
    assert (first["request"]["method"], first["response"]["content"]["text"]) == ("POST", "hello")
    assert second["request"]["url"] == "https://api.example/two"


def test_that_reader_refuses_what_is_no_archive():
    with pytest.raises((ValueError, KeyError, TypeError)):
        HarParser({"log": {"entries": 3}}).har_data["entries"][0]
