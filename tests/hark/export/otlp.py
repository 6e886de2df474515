"""OTLP's lines, read by the published schema and held against the published names."""

import base64
import importlib
import json
import pkgutil
from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData
from opentelemetry.semconv import _incubating
from opentelemetry.semconv.schemas import Schemas

IDENTIFIERS: Final = {"traceId", "spanId", "parentSpanId"}
PREFIX: Final = "hark."


def parsed(lines: Iterable[str]) -> list[TracesData]:
    """Parse the lines; a member that the schema has not is an error.

    OTLP's JSON has identifiers in hex, where that of Protocol Buffers has base64.
    """
    return [json_format.ParseDict(_in_base64(json.loads(line)), TracesData()) for line in lines]


def spans(lines: Iterable[str]) -> list[Span]:
    return [
        span
        for data in parsed(lines)
        for resource in data.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def about(holder: Any) -> dict[str, Any]:
    """Attributes as values of Python's."""
    return {one.key: _plain(one.value) for one in holder.attributes}


def unknown(names: Iterable[str]) -> list[str]:
    """Names that the conventions do not have and that are not of hark's own."""
    return sorted(name for name in set(names) if not name.startswith(PREFIX) and name not in published())


def published() -> set[str]:
    """Every name of an attribute in the package of the conventions."""
    package = importlib.import_module(f"{_incubating.__name__}.attributes")
    found = set()
    for module in pkgutil.iter_modules(package.__path__):
        names = vars(importlib.import_module(f"{package.__name__}.{module.name}"))
        found |= {value for name, value in names.items() if name.isupper() and isinstance(value, str)}
    stable = importlib.import_module("opentelemetry.semconv.attributes")
    for module in pkgutil.iter_modules(stable.__path__):
        names = vars(importlib.import_module(f"{stable.__name__}.{module.name}"))
        found |= {value for name, value in names.items() if name.isupper() and isinstance(value, str)}
    return found


def schemas() -> set[str]:
    return {schema.value for schema in Schemas}


def _in_base64(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_base64(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: base64.b64encode(bytes.fromhex(one)).decode() if name in IDENTIFIERS else _in_base64(one)
        for name, one in value.items()
    }


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(one) for one in value.array_value.values]
    return getattr(value, kind)
