"""The HTML report: its data, its templates, the command that builds it."""
