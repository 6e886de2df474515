"""A recorded run in the formats of other programs: values and lines, made of verified frames. No IO."""
