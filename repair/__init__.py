"""Repair the hidden test lists of a coding panel's tasks by two controls, or refuse the task."""

__version__ = "0.1.0"
