"""Quotas: how many requests each user has made today."""
