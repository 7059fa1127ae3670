"""What is written once: records, their checks, gates and summaries."""
