# -*- coding: utf-8 -*-
import pytest


def test_skips():
    pytest.skip(u"nón")


def test_fails():
    raise ValueError(u"nón")


@pytest.mark.xfail(reason=u"nón")
def test_expected():
    assert 0


def test_bytes():
    pytest.skip("ÿþ")
