"""One page on a run: facts first, then HTML and SVG. The reading and writing of files is the command's."""
