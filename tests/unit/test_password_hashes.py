"""Hashes of passwords: their cost, which each of them contains."""

from collections.abc import AsyncIterator

import pytest

from actors.users.fair_queue import SenderLane
from actors.users.passwords import PasswordHasher
from server import Parts
from tests.support.core import CHEAP

LANE = SenderLane("a place", "a user")
OWASP = "$argon2id$v=19$m=19456,t=2,p=1$"


@pytest.fixture
async def real() -> AsyncIterator[PasswordHasher]:
    """The hasher of a gateway in production."""
    hasher = Parts().hasher()
    yield hasher
    hasher.close()


@pytest.fixture
async def cheap() -> AsyncIterator[PasswordHasher]:
    hasher = PasswordHasher(cost=CHEAP)
    yield hasher
    hasher.close()


async def test_production_hashes_at_the_cost_that_owasp_names(real: PasswordHasher):
    phc = await real.hash("a password", LANE)
    assert phc.startswith(OWASP)
    assert await real.verify("a password", phc, LANE)
    assert not await real.verify("another password", phc, LANE)


async def test_a_stored_hash_is_verified_at_its_own_cost(real: PasswordHasher, cheap: PasswordHasher):
    for made_by, asked in ((real, cheap), (cheap, real)):
        phc = await made_by.hash("a password", LANE)
        assert await asked.verify("a password", phc, LANE)
        assert not await asked.verify("another password", phc, LANE)


async def test_without_a_hash_no_password_is_right(real: PasswordHasher, cheap: PasswordHasher):
    assert not await real.verify("a password", None, LANE)
    assert not await cheap.verify("a password", None, LANE)
