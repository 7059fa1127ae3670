"""A comparison of two panels as text: sections, Markdown, JSON."""
