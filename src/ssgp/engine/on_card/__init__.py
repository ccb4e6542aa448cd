"""The arithmetic of `ssgp.engine` on a GPU, by PyTorch: nothing here is imported before a GPU is asked for."""
