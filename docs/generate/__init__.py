"""What the pages show that nobody wrote by hand: outputs and figures, tables of the registry, docstrings, the bibliography."""
