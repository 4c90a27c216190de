"""What pages show that nobody wrote by hand: outputs, figures, tables of the registry, docstrings, the bibliography."""
