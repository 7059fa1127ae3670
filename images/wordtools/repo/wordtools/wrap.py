"""Lines: wrapping, indenting, truncating."""


def wrap(text: str, width: int = 72) -> list[str]:
    """Lines of at most `width` characters; a longer word gets a line of its own."""
    if width < 1:
        raise ValueError("width must be at least 1")
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def indent(text: str, by: int = 4) -> str:
    """Every line that isn't blank moved to the right."""
    return "\n".join(" " * by + line if line.strip() else line for line in text.split("\n"))


def truncate(text: str, width: int, mark: str = "…") -> str:
    """At most `width` characters of `text`, with `mark` where something was cut."""
    if len(text) <= width:
        return text
    if width < len(mark):
        raise ValueError("width leaves no room for the mark")
    return text[: width - len(mark)] + mark
