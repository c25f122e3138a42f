"""The weights in a client's Accept headers."""

import re

_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?", re.ASCII)


def weight_of(accepted: str, *names: str) -> float:
    """Return the weight of a media type or coding in an Accept header (RFC 9110, 12.4.2).

    Of several names, as `text/html`, `text/*` and `*/*`, the first one that the header has counts (12.5.1). It is 0 if
    the header has none, or the weight is malformed.
    """
    for name in names:
        for part in accepted.split(","):
            accepted_name, *parameters = (text.strip().lower() for text in part.split(";"))
            if accepted_name == name:
                weights = [text[2:] for text in parameters if text.startswith("q=")]
                return 1 if not weights else float(weights[0]) if _WEIGHT.fullmatch(weights[0]) else 0
    return 0
