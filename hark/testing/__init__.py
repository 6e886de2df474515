"""The pytest plugin: tests replayed from a bundle, inside the boundary or in pytest's own process."""
