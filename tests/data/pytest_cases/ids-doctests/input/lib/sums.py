def good():
    """
    >>> 1 + 1
    2
    """


class Bad(object):
    def m(self):
        """
        >>> 1 + 1
        3
        """
