import pytest

from wordtools import frequencies, ngrams, top

TEXT = "The cat and the hat and the bat"


def test_frequencies():
    assert frequencies(TEXT)["the"] == 3


def test_frequencies_of_nothing():
    assert not frequencies("")


def test_unknown_word_counts_zero():
    assert frequencies(TEXT)["dog"] == 0


def test_top_is_ordered():
    assert top(TEXT, 2) == [("the", 3), ("and", 2)]


def test_top_of_few():
    assert top("one", 5) == [("one", 1)]


def test_bigrams():
    assert list(ngrams("a b c")) == [("a", "b"), ("b", "c")]


def test_trigrams():
    assert list(ngrams("a b c", 3)) == [("a", "b", "c")]


def test_ngrams_of_too_little():
    assert list(ngrams("a", 2)) == []


def test_ngrams_need_a_size():
    with pytest.raises(ValueError, match="at least 1"):
        ngrams("a b", 0)
