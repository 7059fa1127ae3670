"""Foreign files as rows and values: JSON, Parquet, lists as text."""
