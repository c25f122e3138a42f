class Error(Exception): ...

class SlowConsumerError(Error):
    subject: str
    reply: str
