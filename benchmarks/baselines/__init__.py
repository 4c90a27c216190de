"""What a good practitioner would write without mfpde."""
