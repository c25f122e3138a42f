"""The version of this code."""

VERSION = "0.2.0"
