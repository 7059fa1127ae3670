"""Foreign panels in and out: a module for each format, and `registry` names them all."""
