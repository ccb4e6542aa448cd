"""Standardised rows, in memory or in files, and partitions of them. Private."""
