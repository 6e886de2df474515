"""Anchors: entries in a transparency log that name a signed tree head, judged from their bytes alone.

What always holds here: bytes and values go in, values come out; no clock, file or socket. What is wrong with
an anchor is `RejectedError`, with the number of the step in `hark.anchor.judge`; what cannot be judged with
the trust root at hand is `UncheckableError`. Nothing else escapes, whatever the bytes are. Making anchors is
not done here (`hark.anchoring`), nor is reading the trust root of the public logs (`hark.verify.anchor`).
"""
