"""A gateway that looks for documents only when it is woken."""

from actors.jobs import ingestion
from tests.gateways.parts import serve

if __name__ == "__main__":
    ingestion.LOOK_EVERY_S = 3600.0
    serve()
