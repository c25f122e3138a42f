"""The version of the client, which its package takes from here."""

__version__ = "0.2.0"
