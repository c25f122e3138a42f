"""The gateway of `server.py`, but for the parts that all gateways of the tests have (tests/gateways/parts.py)."""

from tests.gateways.parts import serve

if __name__ == "__main__":
    serve()
