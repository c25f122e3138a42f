"""The version of this code, one place for all that show it."""

VERSION = "0.1.0"
