"""The table of gateway routes in docs/access.md equals the audited routes."""

import re

from routes.gateway.table import ROUTES
from tests.support.gateway import CHECKOUT

ROW = re.compile(r"^\| [A-Z, ]+/[^|]* \| ([a-zA-Z0-9, ]+) \|$", re.MULTILINE)


def test_the_table_has_every_route_that_leaves_a_row_in_the_audit_log():
    text = (CHECKOUT / "docs/access.md").read_text(encoding="utf-8")
    shown = [name for row in ROW.findall(text) for name in row.split(", ")]
    logged = [route.name for route in ROUTES if route.mutates and route.entrance == "member"]
    assert sorted(shown) == sorted(logged)
