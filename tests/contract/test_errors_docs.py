"""The table of internal codes in docs/errors.md equals the classes of errors."""

import re
from collections.abc import Iterator

from actors.errors import ServiceError
from tests.support.gateway import CHECKOUT

ROW = re.compile(r"^\| (\d{4}) \| (\d{3}) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)


def subclasses(parent: type[ServiceError]) -> Iterator[type[ServiceError]]:
    for child in parent.__subclasses__():
        yield child
        yield from subclasses(child)


def test_the_table_has_every_error_s_code_and_http_code_once_in_order_and_no_other():
    shown = ROW.findall((CHECKOUT / "docs/errors.md").read_text(encoding="utf-8"))
    assert shown == sorted({(str(error.internal_code), str(error.http_code)) for error in subclasses(ServiceError)})
