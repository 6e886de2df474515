"""A recorded run started again: what its bundle asks for, who lets it, with which files, and the verdict."""
