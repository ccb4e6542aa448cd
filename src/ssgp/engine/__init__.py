"""Arithmetic on stacks of leaves, and the hardware it runs on."""
