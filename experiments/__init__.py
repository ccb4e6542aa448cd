"""The paper's evaluation, from raw data to a page: suites as data, a run that can be resumed, figures apart.

``python -m experiments run`` fits, ``python -m experiments draw`` makes the figures and the page.
"""
