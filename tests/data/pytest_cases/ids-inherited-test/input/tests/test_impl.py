from base.contract import Contract


class TestGood(Contract):
    pass


class TestBad(Contract):
    size = 4
