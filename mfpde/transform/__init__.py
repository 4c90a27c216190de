"""The fast sums behind every drift, on plain arrays."""
