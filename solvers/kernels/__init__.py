"""Compiled kernels: arrays and scalars in, a status out."""
