"""A run: boundary, mediator and bundle put together (`run`), its record, and what the user is told."""
