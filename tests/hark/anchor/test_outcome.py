from hark.anchor.outcome import RejectedError, UncheckableError
from hark.errors import BundleError


def test_a_rejection_names_its_step_and_neither_passes_for_the_other():
    error = RejectedError(7, "the checkpoint is of another log")
    assert (error.step, str(error)) == (7, "the checkpoint is of another log")
    assert isinstance(error, BundleError)
    assert not isinstance(error, UncheckableError)
    assert not issubclass(UncheckableError, RejectedError)
