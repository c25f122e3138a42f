"""The outbox takes events of the catalog alone."""

import pytest

from actors.webhooks.event_types import EVENT_TYPES
from actors.webhooks.outbox import Outbox


def test_every_type_of_the_catalog_is_emitted_and_no_other():
    outbox = Outbox(lambda: 0)
    for kind in EVENT_TYPES:
        assert len(outbox.emit("usr_1", kind, {})) == 2
    with pytest.raises(KeyError, match=r"agent\.state\.changed"):
        outbox.emit("usr_1", "agent.state.changed", {})
