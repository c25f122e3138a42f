"""The part of nats-py that Parley uses; its own annotations leave some types unknown."""
