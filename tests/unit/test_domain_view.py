"""The record of a domain for one of its viewers."""

from actors.domains.messages import LOBBY, DomainView, DomainViewer
from persistence.domains import DomainRow, ZoneRow

DOMAIN = DomainRow("dom_1", "usr_1", "ada", "agt_1", "scout", "observatory", "d", None, "agent", 0, 0)


def test_the_lobby_is_found_by_its_name_whatever_the_order_of_ids():
    zones = (ZoneRow("zon_1", "attic", 5), ZoneRow("zon_2", LOBBY, 4), ZoneRow("zon_3", "cellar", 6))
    assert DomainView(DOMAIN, DomainViewer("usr_1"), True, zones).lobby == zones[1]
