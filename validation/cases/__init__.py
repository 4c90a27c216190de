"""Cases of `mfpde validate`."""
