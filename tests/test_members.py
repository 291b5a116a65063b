"""What counts as a member of a folder."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from dfannotate.members import classes_in


class Base:
    pass


class Imported(Base):
    pass


def test_members_are_the_subclasses_that_a_module_defines() -> None:
    module = ModuleType("somewhere")
    member = type("Member", (Base,), {"__module__": "somewhere"})
    vars(module).update(
        Base=Base, Imported=Imported, Member=member, Other=type("Other", (), {"__module__": "somewhere"})
    )
    assert classes_in(module, Base) == [member]


@pytest.mark.parametrize("alias", [Callable[[int], str], list[int], type[Base]], ids=str)
def test_an_alias_of_a_type_is_no_member(alias: object) -> None:
    module = ModuleType("somewhere")
    vars(module).update(Alias=alias, __module__="somewhere")
    assert classes_in(module, object) == []
