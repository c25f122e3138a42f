"""A gateway with a part that fails when it is stopped."""

from functools import partial

from actors.users.passwords import PasswordHasher
from tests.gateways.parts import serve
from tests.support.core import CHEAP


class UnclosableHasher(PasswordHasher):
    def close(self) -> None:
        super().close()
        raise RuntimeError("detail-of-the-hasher")


if __name__ == "__main__":
    serve(hasher=partial(UnclosableHasher, cost=CHEAP))
