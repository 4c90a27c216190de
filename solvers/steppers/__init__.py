"""Time schemes, one a file."""
