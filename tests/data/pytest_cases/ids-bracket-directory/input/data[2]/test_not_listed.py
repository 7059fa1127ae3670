raise RuntimeError("not listed, so nobody may import this")
