"""One thing changed in a recorded run: which exchange, how, and what may then be done again. Pure: no IO."""
