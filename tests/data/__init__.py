"""A package only so that the conftest beside this file is `data.conftest` and hides no other."""
