"""Times of chat engines: from a turn's start to its outcome, look-ups of older messages and failures included."""

from weakref import WeakKeyDictionary

from actors.engines.turn import Engine
from persistence.histogram import Histogram

_times: WeakKeyDictionary[Engine, Histogram] = WeakKeyDictionary()


def times_of(engine: Engine) -> Histogram:
    """Return the times of an engine's turns so far, in seconds; all who run the engine share it."""
    times = _times.get(engine)
    if times is None:
        times = _times[engine] = Histogram()
    return times
