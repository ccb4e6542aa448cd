"""Measurements of speed, memory and accuracy, by the runner and the store of the experiments.

``python -m benchmarks.<name> --help`` says what each of them measures.
"""
