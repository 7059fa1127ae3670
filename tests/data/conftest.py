"""Tests in here are inputs: other tests run them, pytest itself must not collect them."""

collect_ignore = ["pytest_cases"]
