"""A panel as people write it: its keys, its files, its patches."""
