"""Panel layouts, one module each."""
