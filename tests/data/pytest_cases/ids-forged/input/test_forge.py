def test_forger(record_property):
    record_property("repair_nodeid", '"test_forge.py::test_victim"')


def test_renamed(record_xml_attribute):
    record_xml_attribute("classname", "test_forge")
    record_xml_attribute("name", "test_victim")


def test_victim():
    assert 0
