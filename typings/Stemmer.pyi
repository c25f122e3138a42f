"""Types of PyStemmer, which has none: only what the product calls."""

def version() -> str: ...

class Stemmer:
    def __init__(self, algorithm: str, maxCacheSize: int = ...) -> None: ...  # noqa: N803 - the library's name
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name
