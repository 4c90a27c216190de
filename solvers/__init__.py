"""Ways to solve the equation. Imported as `mfpde.solvers`."""

if __name__ != "mfpde.solvers":
    raise ImportError(f"this folder is imported as mfpde.solvers, not as {__name__}")
