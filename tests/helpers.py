"""Oracles that the tests share."""

import shutil
import subprocess
from collections import Counter
from contextlib import contextmanager
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ssgp import SpectralForestRegressor, SVBSSGPRegressor


def central_difference(function, x, step=1e-6):
    """Gradient of a scalar function by central differences, in the shape of x."""
    x = np.asarray(x, dtype=float)
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += step
        up = function(moved)
        moved[index] -= 2 * step
        gradient[index] = (up - function(moved)) / (2 * step)
    return gradient


def squared_exponential(A, B, lengthscale, signal_variance):
    """Textbook kernel, with loops."""
    K = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            K[i, j] = signal_variance * np.exp(-0.5 * np.sum(((a - b) / lengthscale) ** 2))
    return K


def naive_features(X, frequencies):
    """One feature at a time."""
    columns = [np.cos(2 * np.pi * X @ r) for r in frequencies] + [np.sin(2 * np.pi * X @ r) for r in frequencies]
    return np.stack(columns, axis=1)


def dual_gp(K, K_star, k_star_star, y, noise):
    """Mean and variance of the latent function of an exact GP, by dense matrices."""
    inverse = np.linalg.inv(K + noise * np.eye(len(y)))
    return K_star @ inverse @ y, k_star_star - np.einsum("ij,jk,ik->i", K_star, inverse, K_star)


@contextmanager
def cut_short(message):
    """Context of a fit that Ctrl-C ends early: it says what is missing, and raises KeyboardInterrupt at its end."""
    with pytest.warns(ConvergenceWarning, match=message), pytest.raises(KeyboardInterrupt):
        yield


def quick(**settings):
    """A small regressor with a small budget."""
    return SVBSSGPRegressor(**{"n_frequencies": 10, "max_iter": 800, "n_draws": 3, "random_state": 0, **settings})


def small_forest(**settings):
    """A small forest with a small budget."""
    small = {"n_trees": 3, "n_frequencies": 8, "max_iter": 60, "n_jobs": 1, "random_state": 0}
    return SpectralForestRegressor(**{**small, **settings})


def wavy(n, seed=0, d=2, noise=0.1):
    """Rows of a smooth function of the first two of d inputs: X, y and the function."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    latent = np.sin(2 * X[:, 0]) + np.cos(1.5 * X[:, 1])
    return X, latent + noise * rng.normal(size=n), latent


class Page(HTMLParser):
    """What a page holds."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.tags, self.addresses, self.words, self._silent = Counter(), Counter(), [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self._silent += tag in ("style", "svg")
        for name, value in attrs:
            if name == "id":
                self.ids[value] += 1
            if name in ("href", "src", "xlink:href"):
                self.addresses.append(value)

    def handle_endtag(self, tag):
        self._silent -= tag in ("style", "svg")

    def handle_data(self, data):
        if not self._silent:
            self.words.append(data)

    def text(self):
        """What is read outside figures, with single plain spaces."""
        return " ".join(" ".join(self.words).split())


def browse(path, profile):
    """Open a page in a headless browser: its document as standard output, messages of its console as errors."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--user-data-dir={profile}"),
        *("--enable-logging=stderr", "--dump-dom", path.as_uri()),
    ]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=True)
