"""Adaptive time stepping: step control, ends of steps, steady states, poles."""
