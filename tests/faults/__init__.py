"""Tests that break a real engine, kill containers, and stop or kill `repair` itself."""
