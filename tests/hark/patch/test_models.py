"""Which requests only ask a model."""

import pytest

from hark.patch.models import TABLE, Model, model_api

VERSION = ((b"Anthropic-Version", b"2023-06-01"),)


@pytest.mark.parametrize(
    ("host", "path", "model"),
    [
        ("api.openai.com", "/v1/chat/completions", Model.OPENAI),
        ("openrouter.ai", "/api/v1/chat/completions", Model.OPENAI),
        ("mine.openai.azure.com", "/openai/deployments/x/chat/completions?api-version=1", Model.OPENAI),
        ("localhost.example:8000", "/v1/completions", Model.OPENAI),
        ("any.example", "/v1/embeddings", Model.OPENAI),
        ("api.openai.com:443", "/v1/responses", Model.OPENAI),
        ("chatgpt.com", "/backend-api/codex/responses", Model.OPENAI),
        ("api.anthropic.com", "/v1/messages?beta=true", Model.ANTHROPIC),
        ("api.anthropic.com", "/v1/messages/count_tokens", Model.ANTHROPIC),
        ("generativelanguage.googleapis.com", "/v1beta/models/gemini-2.5-pro:generateContent", Model.GEMINI),
        ("eu.example", "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent?alt=sse",
         Model.GEMINI),
        ("cloudcode-pa.googleapis.com", "/v1internal:streamGenerateContent?alt=sse", Model.GEMINI),
    ],
)  # fmt: skip
def test_a_request_that_asks_a_model_is_known(host, path, model):
    assert model_api("POST", host, path) is model
    assert model_api("GET", host, path) is None
    assert model_api("post", host, path) is None


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("api.openai.com", "/v1/files"),
        ("api.openai.com", "/v1/fine_tuning/jobs"),
        ("api.openai.com", "/v1/chat/completions/x"),
        ("api.openai.com", "/v1/chat/completions/../../files"),
        ("api.openai.com", "//v1/chat/completions"),
        ("api.anthropic.com", "/v1/messages/batches"),
        ("api.nexmo.com", "/v1/messages"),  # sends text messages to people
        ("survey.example", "/v1/responses"),
        ("x.api.openai.com", "/v1/responses"),
        ("any.example", "/v1internal:generateContent"),
        ("any.example", "/models/a/b:generateContent"),
        ("any.example", "/models/a:delete"),
        ("bad host", "/v1/responses"),
    ],
)
def test_what_may_do_something_else_is_not(host, path):
    assert model_api("POST", host, path) is None


def test_anthropics_header_tells_its_api_on_any_host():
    assert model_api("POST", "api.model.example", "/v1/messages", VERSION) is Model.ANTHROPIC
    assert model_api("POST", "survey.example", "/v1/responses", VERSION) is None


def test_every_row_has_its_source():
    assert all(row.source.startswith("https://") for row in TABLE)
    assert {row.model for row in TABLE} == set(Model)
