"""Repair the hidden test lists of coding panels by two controls, or refuse the task."""

__version__ = "0.1.0"
