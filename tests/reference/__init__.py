"""Independent reference programs: nothing here may import mfpde."""
