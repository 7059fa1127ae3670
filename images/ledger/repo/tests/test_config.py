from ledger import config


def test_defaults(tmp_path):
    assert config.load(tmp_path / "none.toml") == config.DEFAULTS


def test_value(tmp_path):
    path = tmp_path / "ledger.toml"
    path.write_text('currency = "SEK"\n')
    assert config.load(path)["currency"] == "SEK"


def test_defaults_stay(tmp_path):
    path = tmp_path / "ledger.toml"
    path.write_text('currency = "SEK"\n')
    assert config.load(path)["locale"] == "C"


def test_round_trip(tmp_path):
    path = tmp_path / "ledger.toml"
    config.save(path, {"currency": "NOK", "locale": "C"})
    assert config.load(path) == {"currency": "NOK", "locale": "C"}
