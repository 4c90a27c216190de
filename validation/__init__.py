"""Full-size checks of what mfpde claims. Imported as `mfpde.validation`."""

if __name__ != "mfpde.validation":
    raise ImportError(f"this folder is imported as mfpde.validation, not as {__name__}")
