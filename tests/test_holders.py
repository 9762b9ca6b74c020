"""Who keeps a value, in words."""

from frit.holders import holder_of


class Box:
    def __init__(self, content=None):
        self.content = content


class Slotted:
    __slots__ = ("content",)


TABLE = {}
BOX = Box()


def test_globals_attributes_and_entries():
    value = object.__new__(Box)
    TABLE["a"] = [0, (value,)]
    assert holder_of(value) == f"global TABLE['a'][1][0] of the module {__name__}"
    TABLE.clear()
    BOX.content = Slotted()
    BOX.content.content = value
    assert holder_of(value) == f"global BOX.content.content of the module {__name__}"
    BOX.content = None


def test_closures_and_local_variables():
    kept = [Box()]

    def function():
        return kept

    expected = "closure variable kept[0] of test_closures_and_local_variables.<locals>.function"
    assert holder_of(kept[0]) == expected
    assert function() is kept


def test_local_variables():
    value = Box()
    found = holder_of(value)
    assert found.startswith(f"the local variable value of test_local_variables ({__file__}:")


def test_value_that_nobody_names():
    assert holder_of(Box()) == ""
