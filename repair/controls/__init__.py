"""Plans controls, runs each in a container, and keeps what was observed."""
