"""Panel layouts: one module each, looked up by name."""

from __future__ import annotations

from repair.formats import native

FORMATS = {"native": native}
