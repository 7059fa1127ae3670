"""What git and a review are told of a panel's files: the one text of every PANEL/.gitattributes.

Digests are of bytes, so git changes no line ends below a panel, whatever is said above or by its user. What the tool
writes for itself, a line an id, is folded in a review and not hidden: repair.json is what people read.
"""

from __future__ import annotations

ATTRIBUTES = b"""\
* -text
outcomes.json linguist-generated=true
mint.json linguist-generated=true
.schemas/* linguist-generated=true
"""
