"""What a run of tests left, read into one outcome for every id."""
