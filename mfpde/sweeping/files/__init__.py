"""Files of sweeps."""
