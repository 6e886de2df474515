"""One page on a run: facts first, then HTML and SVG. Pure but for the reading of the bundle, which is handed in."""
