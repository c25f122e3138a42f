"""A gateway that writes each line of its access log at once, for tests that read the log."""

from routes.http.access_log import AccessLog, RequestLine
from tests.gateways.parts import serve


class PromptLog(AccessLog):
    def write(self, line: RequestLine) -> None:
        super().write(line)
        self.flush()


if __name__ == "__main__":
    serve(access_log=PromptLog)
