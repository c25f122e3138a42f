"""Quotas: the number of requests that each user has made today."""
