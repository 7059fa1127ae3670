"""Settings: `key = "value"` lines in a file of the user's."""

from pathlib import Path

DEFAULTS = {"currency": "EUR", "locale": "C"}


def load(path: Path) -> dict[str, str]:
    """The settings of a file over the defaults; a file that isn't there has none."""
    settings = dict(DEFAULTS)
    if not path.exists():
        return settings
    for line in path.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals:
            settings[key.strip()] = value.strip().strip('"')
    return settings


def save(path: Path, settings: dict[str, str]) -> None:
    path.write_text("".join(f'{key} = "{value}"\n' for key, value in settings.items()))
