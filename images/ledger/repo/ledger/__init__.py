"""A plain-text ledger."""
