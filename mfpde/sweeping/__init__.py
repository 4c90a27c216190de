"""Sweeps: the points of a grid of parameters, solved one by one wherever there is a free processor."""
