"""The spectral forest."""
