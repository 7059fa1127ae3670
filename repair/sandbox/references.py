"""Image references and platforms, as engines and registries spell them. Pure."""

from __future__ import annotations

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "armv6l": "arm", "i686": "386"}


def architecture(name: str) -> str:
    """The name that images use for an architecture, such as `amd64` for `x86_64`."""
    return _ARCHITECTURES.get(name, name)


def fits(wanted: str, actual: str) -> bool:
    """Does `actual` (os/architecture[/variant]) fit `wanted`, in the parts that `wanted` has?

    A lone architecture means linux.
    """
    wanted_parts = wanted.split("/") if "/" in wanted else ["linux", wanted]
    wanted_parts[1] = architecture(wanted_parts[1])
    return actual.split("/")[: len(wanted_parts)] == wanted_parts


def repository_of(reference: str) -> str:
    """The repository of an image reference, in full: `python:3.11` is in `docker.io/library/python`."""
    name = reference.partition("@")[0]
    if ":" in name.rpartition("/")[2]:
        name = name.rpartition(":")[0]
    first, slash, rest = name.partition("/")
    if not slash:
        return f"docker.io/library/{name}"
    if "." in first or ":" in first or first == "localhost":
        return f"docker.io/library/{rest}" if first == "docker.io" and "/" not in rest else name
    return f"docker.io/{name}"


def spelt_out(reference: str) -> str:
    """An image reference in full: registry, repository, and its digest or tag. Without either the tag is `latest`."""
    at = reference.partition("@")[2]
    tag = reference.rpartition(":")[2] if is_tagged(reference) and not at else "latest"
    return f"{repository_of(reference)}@{at}" if at else f"{repository_of(reference)}:{tag}"


def is_tagged(reference: str) -> bool:
    """Does a reference name a tag or a digest?"""
    return "@" in reference or ":" in reference.rpartition("/")[2]
