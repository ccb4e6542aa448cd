"""Models and checkpoints in files."""
