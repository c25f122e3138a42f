"""A gateway that writes each line of its access log at once, for tests that read the log."""

from typing import Any

from routes.http.access_log import AccessLog
from tests.gateways.parts import serve


class PromptLog(AccessLog):
    def write(self, request_id: str, *line: Any) -> None:
        super().write(request_id, *line)
        self.flush()


if __name__ == "__main__":
    serve(access_log=PromptLog)
