"""What HTTP exchanges of a run say: put together from events, and read as calls of models. Pure: no IO."""
