"""The gateway of `server.py` with the common parts of all test gateways (tests/gateways/parts.py)."""

from tests.gateways.parts import serve

if __name__ == "__main__":
    serve()
