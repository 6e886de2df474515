"""Whether a JSON text gives a credential away: as it stands, or behind escapes, also nested ones. Pure."""

from mediator.credentials import Broker


def leaked(broker: Broker, text: bytes) -> str | None:
    """Return the name of a secret whose value stands in `text`, or None."""
    return broker.real_value_in(text)
