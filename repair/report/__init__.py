"""Results as text for people and documents for programs. Pure, but for `progress` (prints) and `page.build` (reads)."""
