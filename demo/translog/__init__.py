"""A transparency log for demos and tests: small, local and real.

    with translog.serving(folder) as log:
        log.url            Rekor's address: POST /api/v1/log/entries, POST /api/v2/log/entries
        log.tsa_url        the timestamp authority's
        log.fulcio_url     the certificate authority's: POST /api/v2/signingCert
        log.token("me@example")  an identity token for it
        log.trusted_root, log.signing_config, log.trust_config   files in `folder`, in sigstore's shapes
        log.lie("v2", "root")    a wrong answer from now on (demo/translog/lies.py); log.lie("v2") ends it

Keys, trees, signatures, certificates and timestamps are what the public services make, and sigstore's own
verifier takes them (tests/demo). What is small about it: it lives in memory, forgets all with its process,
and is not to be relied on by anybody who did not start it.
"""

from demo.translog.server import serving
from demo.translog.service import Translog

__all__ = ["Translog", "serving"]
