"""Configuration by the operator: the settings, their defaults, and the catalogs of tools and skills."""
