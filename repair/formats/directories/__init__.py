"""Formats in which a task is a directory: one module each."""
