"""The sentence of an error is made from its fields, and its exit code says whose fault it is."""

from hark.errors import ForkError, PatchError, UsageError


def test_a_patch_that_fits_nothing_names_its_step_and_the_nearest():
    error = PatchError('"hi" does not occur', '"Hi" in the body', 2)
    assert str(error) == 'step 2 of the patch: "hi" does not occur; nearest is "Hi" in the body'
    assert (error.what, error.nearest, error.step) == ('"hi" does not occur', '"Hi" in the body', 2)
    assert str(PatchError("a request has no status")) == "a request has no status"
    assert error.exit_code == 1


def test_what_a_fork_was_asked_for_is_usage():
    assert ForkError.exit_code == UsageError.exit_code == 2
