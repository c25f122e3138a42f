"""The development start, which changes defaults of settings that the operator has not given."""

from collections.abc import Mapping
from types import MappingProxyType

from config.settings import Settings

DEVELOPMENT: Mapping[str, object] = MappingProxyType({"sandbox_keys_enabled": True, "default_plan": "enterprise"})
"""The values of a development start, by settings key."""


def for_development(settings: Settings) -> tuple[Settings, frozenset[str]]:
    """Return the settings of a development start, and the keys that it has changed.

    A key that the operator gave, in the environment or in a file, keeps its value.
    """
    changed = {key: value for key, value in DEVELOPMENT.items() if key not in settings.model_fields_set}
    return settings.model_copy(update=changed), frozenset(changed)
