"""A gateway with actors that are passivated after a second without a message."""

from tests.gateways.parts import serve

if __name__ == "__main__":
    serve(idle_s=1.0)
