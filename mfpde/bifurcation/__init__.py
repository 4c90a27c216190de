"""Stationary states, their branches, stability and phase diagrams."""
