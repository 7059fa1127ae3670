"""Test lists from runs in a task's image (`repair mint`), and why a test's outcome changes (`repair probe`)."""
