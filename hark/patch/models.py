"""Requests that only ask a model: by method, path and, where a path is common, by host or header. A table.

What always holds: a request that is in no row is none, and a path that servers read in two ways is in none.
What a model's server keeps of a question, or does with tools of its own, is not looked at here.
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from hark.bundle.fields import Pairs
from hark.policy.host import HostError, split_authority
from hark.policy.model import HTTPS_PORT, covers
from hark.policy.paths import Ambiguous, Spelled, spell


class Model(Enum):
    """Whose API a request speaks."""

    OPENAI = "OpenAI"
    ANTHROPIC = "Anthropic"
    GEMINI = "Gemini"


class Row(NamedTuple):
    """Requests of one API. Without hosts the path is told from any other service's by itself."""

    model: Model
    path: re.Pattern[str]
    hosts: tuple[str, ...]
    """Where the path is common: the hosts that mean this by it."""
    source: str


_OPENAI: Final = "https://platform.openai.com/docs/api-reference"
_ANTHROPIC: Final = "https://docs.anthropic.com/en/api"
_GEMINI: Final = "https://ai.google.dev/api"
_RESPONSES: Final = (
    "api.openai.com", "*.openai.azure.com", "chatgpt.com", "openrouter.ai", "api.x.ai", "api.groq.com",
)  # fmt: skip
_CONTENTS: Final = "(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)"

TABLE: Final = (
    Row(Model.OPENAI, re.compile(r".*/chat/completions"), (), f"{_OPENAI}/chat/create"),
    Row(Model.OPENAI, re.compile(r".*/v1/completions"), (), f"{_OPENAI}/completions/create"),
    Row(Model.OPENAI, re.compile(r".*/v1/embeddings"), (), f"{_OPENAI}/embeddings/create"),
    # Surveys have responses too.
    Row(Model.OPENAI, re.compile(r".*/responses"), _RESPONSES, f"{_OPENAI}/responses/create"),
    Row(Model.OPENAI, re.compile(r".*/v1/moderations"), _RESPONSES, f"{_OPENAI}/moderations/create"),
    # Services that send messages to people have the same path: there it is the header that tells.
    Row(
        Model.ANTHROPIC,
        re.compile(r".*/v1/messages(?:/count_tokens)?"),
        ("api.anthropic.com",),
        f"{_ANTHROPIC}/messages",
    ),
    Row(Model.GEMINI, re.compile(rf".*/models/[^/:]+:{_CONTENTS}"), (), f"{_GEMINI}/generate-content"),
    Row(
        Model.GEMINI,
        re.compile(rf"/v1internal:{_CONTENTS}"),
        ("cloudcode-pa.googleapis.com",),
        "https://github.com/google-gemini/gemini-cli",
    ),
)
VERSION: Final = b"anthropic-version"
"""A header that every request of Anthropic's API has, on whatever host."""


def model_api(method: str, host: str, path: str, headers: Pairs = ()) -> Model | None:
    """Return whose API a request asks a model by; None where it may do anything else."""
    if method != "POST":
        return None
    match spell(path):
        case Ambiguous():
            return None
        case Spelled(spelled):
            rows = [row for row in TABLE if row.path.fullmatch(spelled)]
            return next((row.model for row in rows if _means(row, host, headers)), None)


def _means(row: Row, host: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    if not row.hosts or any(covers(pattern, _host(host)) for pattern in row.hosts):
        return True
    return row.model is Model.ANTHROPIC and any(name.lower() == VERSION for name, _ in headers)


def _host(authority: str) -> str:
    try:
        return split_authority(authority, HTTPS_PORT)[0]
    except HostError:
        return ""
