"""The sentence of an error is made from its fields, and its exit code says whose fault it is."""

from errno import EACCES

from hark.errors import ForkError, PatchError, UsageError, no_place


def test_a_patch_that_fits_nothing_names_its_step_and_the_nearest():
    error = PatchError('"hi" does not occur', '"Hi" in the body', 2)
    assert str(error) == 'step 2 of the patch: "hi" does not occur; nearest is "Hi" in the body'
    assert (error.what, error.nearest, error.step) == ('"hi" does not occur', '"Hi" in the body', 2)
    assert str(PatchError("a request has no status")) == "a request has no status"
    assert error.exit_code == 1


def test_what_a_fork_was_asked_for_is_usage():
    assert ForkError.exit_code == UsageError.exit_code == 2


def test_a_directory_that_cannot_be_had_has_its_reason_and_what_to_do():
    said = no_place("keep bundles in /x", OSError(EACCES, "ignored"), "XDG_STATE_HOME")
    assert said == (
        "cannot keep bundles in /x: permission denied; have HOME or XDG_STATE_HOME name a directory of yours "
        "that has room"
    )
