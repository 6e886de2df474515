import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from demo.translog import certificates, der
from hark.anchor import chain
from hark.anchor.chain import UnknownAuthorityError
from hark.anchor.jsonform import MalformedError
from tests.support.anchored import NOON, WHO, certificate, local, root_of

AT = int(NOON.timestamp())


@pytest.fixture
def log(tmp_path):
    return local(tmp_path)


@pytest.fixture
def held(log):
    return chain.load(certificate(log, certificates.new_key()))


def test_a_certificate_leads_to_its_authority_at_its_time_alone(log, held):
    authorities = root_of(log).authorities
    issuer = chain.issuer_of(held, authorities, AT)
    assert issuer.subject == held.issuer
    for time in (AT - 60, AT + 24 * 3600):
        with pytest.raises(MalformedError):
            chain.issuer_of(held, authorities, time)
    with pytest.raises(UnknownAuthorityError):
        chain.issuer_of(held, (), AT)


def test_an_authority_counts_in_its_period(log, held):
    (authority,) = root_of(log).authorities
    with pytest.raises(MalformedError):
        chain.issuer_of(held, (authority._replace(period=authority.period._replace(end=AT - 1)),), AT)


def test_an_authority_of_the_same_name_with_another_key_is_another(log, held, tmp_path):
    with pytest.raises(MalformedError):
        chain.issuer_of(held, root_of(local(tmp_path / "other")).authorities, AT)


def test_a_certificate_log_must_have_signed_for_it(log, held, tmp_path):
    root = root_of(log)
    issuer = chain.issuer_of(held, root.authorities, AT)
    chain.check_logged(held, issuer, root.certificate_logs)
    strange = root_of(local(tmp_path / "other")).certificate_logs
    forged = tuple(one._replace(log_id=root.certificate_logs[0].log_id) for one in strange)
    for logs in ((), strange, forged):
        with pytest.raises(MalformedError, match="no log of certificates"):
            chain.check_logged(held, issuer, logs)
    with pytest.raises(MalformedError, match="no log of certificates"):
        chain.check_logged(issuer, issuer, root.certificate_logs)


def test_it_says_whose_it_is_and_who_vouches(held):
    chain.check_usage(held)
    assert chain.identity(held) == (WHO, "https://log.example:3000/oidc")


def test_an_authoritys_own_certificate_is_not_for_signing_code(log):
    own = log.authority.chain[0]
    with pytest.raises(MalformedError):
        chain.check_usage(own)
    with pytest.raises(MalformedError, match="one identity"):
        chain.identity(own)


@pytest.mark.parametrize("data", [b"", b"\x30\x03\x02\x01\x00", bytes(chain.MAX_CERTIFICATE + 1)])
def test_bytes_that_are_no_certificate_are_malformed(data):
    with pytest.raises(MalformedError):
        chain.load(data)


def test_its_key_is_read(held):
    from hark.anchor.keys import PublicKey

    assert PublicKey(chain.key_of(held)).is_p256()
    assert isinstance(held, x509.Certificate)


def issued(name, *extensions):
    """A certificate for `name`, signed by itself: what it says is read before who said it."""
    key = certificates.new_key()
    bare = x509.CertificateBuilder(
        x509.Name([]), x509.Name([]), key.public_key(), 1, NOON, NOON
    ).add_extension(x509.SubjectAlternativeName([name]), critical=True)
    for oid, data in extensions:
        bare = bare.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), data), critical=False
        )
    return bare.sign(key, SHA256())


@pytest.mark.parametrize("size", [0, 1, 127, 128, 255])
def test_whoever_vouches_is_read_at_every_length(size):
    url = "x" * size
    made = issued(x509.RFC822Name("me@x.example"), (chain.ISSUER[0], der.text(url)))
    assert chain.identity(made) == ("me@x.example", url)


def test_the_older_extension_counts_only_without_the_newer_one():
    mail = x509.RFC822Name("me@x.example")
    older, newer = (chain.ISSUER[1], b"https://old.example"), (chain.ISSUER[0], der.text("https://x.example"))
    assert chain.identity(issued(mail, older))[1] == "https://old.example"
    assert chain.identity(issued(mail, older, newer))[1] == "https://x.example"
    assert chain.identity(issued(mail))[1] == ""


def test_an_identity_is_an_address_a_uri_or_a_name_that_fulcio_writes():
    user = x509.OtherName(x509.ObjectIdentifier(chain.USERNAME), der.text("me"))
    uri = x509.UniformResourceIdentifier("https://x.example/workflow")
    assert [chain.identity(issued(one))[0] for one in (user, uri)] == ["me", uri.value]
    for other in (
        x509.DNSName("x.example"),
        x509.OtherName(x509.ObjectIdentifier("1.2.3"), der.text("me")),
        x509.OtherName(x509.ObjectIdentifier(chain.USERNAME), der.octets(b"me")),
    ):
        with pytest.raises(MalformedError):
            chain.identity(issued(other))


@pytest.mark.parametrize(
    "data", [b"bare", b"\x0c", b"\x0c\x05a", b"\x0c\x81\x01a", b"\x0c\x01\xff", der.text("x" * 256)]
)
def test_an_issuer_that_is_not_written_as_text_is_malformed(data):
    with pytest.raises(MalformedError, match="a name in the certificate"):
        chain.identity(issued(x509.RFC822Name("me@x.example"), (chain.ISSUER[0], data)))


def test_a_name_that_is_read_only_when_asked_for_is_read_at_once(log):
    readable = certificate(log, certificates.new_key())
    name = chain.load(readable).issuer.rfc4514_string().partition("=")[2].partition(",")[0].encode()
    spoilt = readable.replace(name, b"\xff\xfe" + name[2:])
    assert spoilt != readable
    with pytest.raises(MalformedError):
        chain.load(spoilt)
