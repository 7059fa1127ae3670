raise ValueError(u"n\u00f3n")
