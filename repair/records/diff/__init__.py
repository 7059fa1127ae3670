"""Two states of a panel, compared record by record."""
