"""Plan controls, run each in a container, keep what was observed."""
