"""Query parameters of gateway routes: from the texts of a request to the model of a route."""

import re

from pydantic import BaseModel, ValidationError

from actors.calls.known_members import members_of
from actors.calls.request import refusal_of
from actors.errors import InvalidField

_WHOLE_NUMBER = re.compile(r"-?[0-9]+")


def validated(model: type[BaseModel], values: dict[str, str]) -> BaseModel:
    """Validate query parameters.

    Raises:
        InvalidField: the note names up to ten wrong or unknown parameters, or one with a NUL, or one that is no number.
    """
    if model.model_config.get("extra") == "forbid":
        members_of(model).require_known(values)
    for name, value in values.items():
        if "\0" in value:  # PostgreSQL can't look for it
            raise InvalidField(f"Invalid value of {name}: a text must not contain NUL.")
    numbers = [field.alias or name for name, field in model.model_fields.items() if field.annotation is int]
    for name in numbers:
        if name in values and not _WHOLE_NUMBER.fullmatch(values[name]):  # pydantic takes `1_0`, ` 10` and `10.0`, too
            raise InvalidField(f"Invalid value of {name}: it must be a whole number.")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal_of(error) from None
