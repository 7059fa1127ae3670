"""Records: their bytes and their checks, and the gates, summaries and comparisons made from them."""
