class Msg:
    subject: str
    reply: str
    data: bytes
