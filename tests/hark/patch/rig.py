"""Answers as they are recorded, in every framing and coding, for the tests of patches."""

import json
from itertools import pairwise

from hypothesis import strategies as st

from hark.patch.model import parse_patch
from hark.replay.pieces import Data, End, Head, Part
from tests.support.squeezing import packer

JSON = (b"Content-Type", b"application/json")
STREAM = (b"content-type", b"text/event-stream; charset=utf-8")
CODINGS = ("gzip", "deflate", "br", "zstd")


def patch(*steps, **more):
    """A patch of these steps, through its file."""
    return parse_patch(json.dumps({"steps": steps, **more}).encode())


def answer(*chunks, headers=(JSON,), status=200, end=None):
    """The parts of an answer: head, chunks, end."""
    pieces = [Head(status, tuple(headers), ends=not chunks), *map(Data, chunks), end or End()]
    return [Part(10 + at, 1000 * at, piece) for at, piece in enumerate(pieces)]


def body(parts):
    """The body of an answer."""
    return b"".join(part.piece.data for part in parts if isinstance(part.piece, Data))


def head(parts):
    """The head of an answer."""
    return next(part.piece for part in parts if isinstance(part.piece, Head))


def header(parts, name):
    """The values of a header of an answer."""
    return [value for known, value in head(parts).headers if known.lower() == name]


def packed(coding, *chunks):
    """Chunks that are packed as they come."""
    one = packer(coding.encode())
    pieces = [one.pack(chunk) for chunk in chunks]
    return [*pieces[:-1], pieces[-1] + one.end()]


def cut(data, places):
    """Data in chunks that end at these places."""
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[one:other] for one, other in pairwise(marks)]


def sse(*events, named=True):
    """A stream of events, each of some JSON."""
    return b"".join(
        (f"event: {one['type']}\n" if named and "type" in one else "").encode()
        + b"data: "
        + json.dumps(one).encode()
        + b"\n\n"
        for one in events
    )


def anthropic(*pieces, thinking=(), arguments=()):
    """A message of Anthropic's as a stream, with its text, thinking and input in these pieces."""
    yield {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": []}}
    blocks = (("thinking", thinking), ("text", pieces), ("partial_json", arguments))
    kinds = {"thinking": "thinking_delta", "text": "text_delta", "partial_json": "input_json_delta"}
    for index, (member, texts) in enumerate((member, texts) for member, texts in blocks if texts):
        begun = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {}}
        if member != "partial_json":
            begun = {"type": member, member: ""}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for text in texts:
            delta = {"type": kinds[member], member: text}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_stop"}


def openai(*pieces, arguments=()):
    """A chat completion as a stream."""
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in arguments]
    for delta in [*deltas, {}]:
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


def responses(*pieces):
    """A response of OpenAI's as a stream: what comes in pieces is said whole twice more."""
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    for piece in pieces:
        yield {"type": "response.output_text.delta", "delta": piece, **at}
    whole = "".join(pieces)
    yield {"type": "response.output_text.done", "text": whole, **at}
    part = {"type": "output_text", "text": whole}
    yield {"type": "response.completed", "response": {"output": [{"type": "message", "content": [part]}]}}


def gemini(*pieces):
    """Contents of Gemini's as a stream."""
    for piece in pieces:
        yield {"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}, "index": 0}]}


STREAMS = {"anthropic": anthropic, "openai": openai, "responses": responses, "gemini": gemini}


def heard(stream):
    """The JSON of each event of a stream; what is no event or no JSON raises."""
    found = []
    for block in stream.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[6:] for line in block.split(b"\n") if line.startswith(b"data: ")]
        if lines and lines != [b"[DONE]"]:
            found.append(json.loads(b"\n".join(lines)))
    return found


def said(events):
    """What a client puts together from a stream's events."""
    text = []
    for event in events:
        if event.get("type") == "content_block_delta":
            text.append(event["delta"].get("text", ""))
        elif event.get("type") == "response.output_text.delta":
            text.append(event["delta"])
        text += [choice["delta"].get("content") or "" for choice in event.get("choices", ())]
        for candidate in event.get("candidates", ()):
            text += [part["text"] for part in candidate["content"]["parts"]]
    return "".join(text)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
