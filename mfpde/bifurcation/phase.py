"""Phase diagrams."""


def phase_diagram() -> None:
    """To come."""
