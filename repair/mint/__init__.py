"""Lists made from what an image shows of each test."""
