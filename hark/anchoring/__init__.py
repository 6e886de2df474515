"""Making anchors: asking a log, an authority of time stamps and, for an identity, one of certificates.

What always holds: nothing is put behind a bundle that its own judge rejects; whatever a server answers, or
does not, ends within a fixed time in an UpstreamError with a sentence; and no failure here touches a bundle
that is sealed.
"""
