def pytest_collection_modifyitems(items):
    raise RuntimeError("a hook of the repo")
