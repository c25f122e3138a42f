"""The moves of a membership, compared with a copy of the table in docs/contract.md, "Memberships"."""

import pytest

from actors.domains.membership import Membership, Move, moved

# state: invite, join, leave, kick, ban, unban; "-" is refused, "=" changes nothing
TABLE = """
    none:    invited member  -    -    banned -
    invited: =       member  none none banned -
    member:  -       =       none none banned -
    banned:  -       -       -    -    =      none
"""
CELLS = [
    (Membership(state), move, cell)
    for state, cells in (line.split(":") for line in TABLE.strip().replace(" " * 4, " ").splitlines())
    for state in [state.strip()]
    for move, cell in zip(Move, cells.split(), strict=True)
]


@pytest.mark.parametrize(("state", "move", "cell"), CELLS, ids=lambda value: getattr(value, "name", str(value)))
def test_each_cell_of_the_table(state: Membership, move: Move, cell: str):
    after = moved(state, move, own=False, public=True)
    assert after is {"-": None, "=": state}.get(cell, Membership(cell) if cell not in "-=" else None)


def test_an_own_agent_that_is_invited_is_a_member_at_once():
    assert moved(Membership.NONE, Move.INVITE, own=True, public=False) is Membership.MEMBER
    assert moved(Membership.BANNED, Move.INVITE, own=True, public=True) is None


def test_nobody_joins_uninvited_what_is_not_public():
    assert moved(Membership.NONE, Move.JOIN, own=True, public=False) is None
    assert moved(Membership.INVITED, Move.JOIN, own=True, public=False) is Membership.MEMBER
