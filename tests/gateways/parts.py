"""The common parts of all test gateways: cheap passwords unless TEST_PASSWORDS is `quarter` or `real`, TEST_GRACE_S."""

import os
import sys
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NoReturn

from actors.users.passwords import OWASP_COST, HashCost, PasswordHasher
from config.settings import Settings
from server import Gateway, Parts, main
from tests.support.core import CHEAP

COSTS = {"real": OWASP_COST, "quarter": HashCost(OWASP_COST.memory_kib // 4, OWASP_COST.iterations)}
"""Costs of a password by TEST_PASSWORDS. A quarter still takes longer than a request, so a flood fills the hasher."""


def parts(**replaced: Any) -> Parts:
    """Return the parts of a test gateway, with some replaced."""
    cost = COSTS.get(os.environ.get("TEST_PASSWORDS", ""), CHEAP)
    common: dict[str, Any] = {"hasher": partial(PasswordHasher, cost=cost)}
    if "TEST_GRACE_S" in os.environ:
        common["grace_s"] = float(os.environ["TEST_GRACE_S"])
    return Parts(**(common | replaced))


def serve(gateway: type[Gateway] = Gateway, **replaced: Any) -> NoReturn:
    """Run a gateway with replaced parts like `python server.py`; end the process."""
    make: Callable[[Settings, Collection[str] | None], Gateway] = partial(gateway, parts=parts(**replaced))
    sys.exit(main(sys.argv[1:], make))
