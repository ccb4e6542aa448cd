"""Arithmetic on stacks of leaves, and the hardware it runs on. Private; README.md beside this file is its guide."""
