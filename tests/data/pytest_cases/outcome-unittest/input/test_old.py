import unittest


class Plain(unittest.TestCase):
    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

    @unittest.skip("no")
    def test_skipped(self):
        pass

    def test_skips_itself(self):
        self.skipTest("no")

    def test_ok(self):
        pass


class BrokenClassSetup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("class")

    def test_any(self):
        pass


class BrokenTearDown(unittest.TestCase):
    def tearDown(self):
        raise RuntimeError("down")

    def test_any(self):
        pass
