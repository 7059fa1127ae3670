def test_one_of_three(subtests):
    for number in range(3):
        with subtests.test(msg="number", i=number):
            assert number != 1


def test_all(subtests):
    with subtests.test(i=1):
        pass


def test_sub_and_call(subtests):
    with subtests.test(i=1):
        assert 0
    assert 0
