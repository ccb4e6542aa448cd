"""The mathematics of the paper's bound: features, spectra, posterior, objectives and the stochastic ascent."""
