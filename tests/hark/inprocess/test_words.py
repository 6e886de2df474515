"""What goes over the channel comes out as it went in; one test's command is no other's."""

import json

from hark.inprocess.words import Job, is_another, other_test

WANTED = ("/a/python", "-m", "pytest", "test_a.py::test_a")


def test_a_job_comes_out_as_it_went_in() -> None:
    job = Job(WANTED, "/w", "/o", bundle="/b", policy=None)
    assert Job.heard(json.loads(json.dumps(job.said()))) == job


def test_the_interpreter_may_lie_elsewhere_and_the_test_may_not_be_another() -> None:
    assert not is_another(("/b/python", *WANTED[1:]), WANTED)
    assert is_another((*WANTED[:-1], "test_a.py::test_b"), WANTED)
    assert is_another(("python3", "agent.py"), WANTED)
    assert is_another((), WANTED)
    assert is_another(("/bin/true", *WANTED[1:]), WANTED)


def test_what_was_recorded_is_named_and_safe_to_print() -> None:
    assert "test_a.py::test_b, and not of test_a.py::test_a" in other_test(
        (*WANTED[:-1], "test_a.py::test_b"), WANTED
    )
    assert "python3 agent\\e.py" in other_test(("python3", "agent\x1b.py"), WANTED)
