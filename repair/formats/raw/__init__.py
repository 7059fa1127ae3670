"""Foreign files as rows and values: JSON, Parquet, and lists in texts."""
