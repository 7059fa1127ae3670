"""Formats in which a task is a row of a data set: one module each."""
