"""Files of diagrams."""
