from hark.verify import limits as module
from hark.verify.limits import limits
from hark.verify.result import (
    ANCHORED,
    BROKEN,
    REJECTED,
    TRUNCATED,
    UNCHECKABLE,
    AnchorResult,
    Cosignature,
    Tlog,
)
from tests.hark.verify.test_result import GOOD as PLAIN

GOOD = PLAIN._replace(tlog=Tlog("hark/run/x", bytes(32), ""))

HELD = AnchorResult(ANCHORED, log="log.example", number=3, time=5, clock="tsa.example")


def of(result=GOOD, *, legible=True, header=True, times=True, hashed=False):
    return set(limits(result, legible=legible, header_covered=header, times_covered=times, hashed=hashed))


def test_each_limit_stands_only_where_it_holds():
    always = {module.COMPLETENESS}
    assert of() == always | {module.NO_PIN, module.OPERATOR}
    assert of(GOOD._replace(pinned=True)) == always | {module.OPERATOR}
    assert of(GOOD._replace(public_key=b"")) == always | {module.UNSIGNED}
    assert of(GOOD._replace(anchors=(HELD,))) - of() == {module.ANCHORED_ONLY}
    assert of() - of(GOOD._replace(anchors=(HELD,))) == {module.OPERATOR}
    theirs = HELD._replace(identity="you@x.example")
    assert of(GOOD._replace(anchors=(theirs,))) - of(GOOD._replace(anchors=(HELD,))) == {module.NO_IDENTITY}
    for known in (HELD, theirs._replace(expected=True)):
        assert module.NO_IDENTITY not in of(GOOD._replace(anchors=(theirs, known)))
    assert of(GOOD._replace(anchors=(HELD._replace(state=UNCHECKABLE),))) == of()
    assert of(GOOD._replace(redacted=(1,))) - of() == {module.REDACTED}
    assert of(GOOD._replace(unsafe=True)) - of() == {module.UNSAFE}
    assert of(GOOD._replace(policy_known=False)) - of() == {module.POLICY_REDACTED}
    assert of(GOOD._replace(uncontained="a test's process")) - of() == {module.UNCONTAINED}
    word = Cosignature("w.example", "", 5)
    cosigned = GOOD.tlog._replace(cosignatures=(word._replace(checked=True),))
    assert of(GOOD._replace(tlog=cosigned)) - of() == {module.WITNESSED_ONLY}
    assert of(GOOD._replace(tlog=cosigned._replace(cosignatures=(word,)))) == of()
    assert of(PLAIN) - of() == {module.NO_CHECKPOINT}
    assert of(hashed=True) - of() == {module.HASHED}
    assert of(header=False) - of() == {module.NO_HEADER_HASH}
    assert of(legible=False) - of() == {module.NO_START}
    assert of(times=False) - of() == {module.NO_SEAL}
    assert of(GOOD._replace(verdict=TRUNCATED, public_key=b"")) == always | {module.CUT}
    assert of(GOOD._replace(verdict=BROKEN)) == {module.UNCHECKED}


def test_limits_are_whole_sentences():
    sentences = [
        value
        for name, value in vars(module).items()
        if name.isupper() and name not in {"ANCHORED", BROKEN, REJECTED, TRUNCATED}
    ]
    assert len(sentences) == 18
    assert all(words.endswith(".") for words in sentences)
