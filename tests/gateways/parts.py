"""The common parts of all test gateways: cheap passwords unless TEST_PASSWORDS is `real`, TEST_GRACE_S."""

import os
import sys
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NoReturn

from actors.users.passwords import PasswordHasher
from config.settings import Settings
from server import Gateway, Parts, main
from tests.support.core import CHEAP


def parts(**replaced: Any) -> Parts:
    """Return the parts of a test gateway, with some replaced."""
    common: dict[str, Any] = {}
    if os.environ.get("TEST_PASSWORDS") != "real":
        common["hasher"] = partial(PasswordHasher, cost=CHEAP)
    if "TEST_GRACE_S" in os.environ:
        common["grace_s"] = float(os.environ["TEST_GRACE_S"])
    return Parts(**(common | replaced))


def serve(gateway: type[Gateway] = Gateway, **replaced: Any) -> NoReturn:
    """Run a gateway with replaced parts like `python server.py`; end the process."""
    make: Callable[[Settings, Collection[str] | None], Gateway] = partial(gateway, parts=parts(**replaced))
    sys.exit(main(sys.argv[1:], make))
