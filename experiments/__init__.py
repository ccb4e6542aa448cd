"""The paper's evaluation, from raw data to a page: suites as data, a run that can be resumed, figures apart.

``python -m experiments run`` fits, ``python -m experiments draw`` makes the figures and the page. The benchmarks run
their cells by the same runner, and keep their rows in the same kind of store.
"""
