"""Models of the nodes of trees as they are filled in, and the finished levels that are made of them."""

from collections.abc import Sequence

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.forest.half_precision import to_half_precision
from ssgp.forest.tree import Level
from ssgp.spectrum.noise import fit_noise_priors

__all__ = ["NodeArrays"]

# Rounding of a sketch is held against this much of a leverage's root.
SKETCH_TOLERANCE = 0.1


class NodeArrays:
    """Models of the nodes of a level, filled in some branches at a time; vectors are in single precision.

    Parameters
    ----------
    n_nodes : int
        p.
    n_sketches, n_features : int
        k and q.
    """

    def __init__(self, n_nodes: int, n_sketches: int, n_features: int) -> None:
        self.weights = np.empty((n_nodes, n_features), np.float32)
        self.sketch = np.empty((n_nodes, n_sketches, n_features), np.float32)
        self.count, self.rss = np.empty(n_nodes), np.empty(n_nodes)

    @classmethod
    def concatenate(cls, parts: "Sequence[NodeArrays]") -> "NodeArrays":
        """Nodes of several parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        joined = cls.__new__(cls)
        for name in ("weights", "sketch", "count", "rss"):
            setattr(joined, name, np.concatenate([getattr(part, name) for part in parts]))
        return joined

    def put(self, nodes: Indices, weights: Array, sketch: Array, count: Array, rss: Array) -> None:
        """Keep the models of some nodes."""
        self.weights[nodes], self.sketch[nodes] = weights, sketch
        self.count[nodes], self.rss[nodes] = count, rss

    def levels(self, leaves_per_node: int, n_trees: int) -> list[Level]:
        """The finished level of each of so many trees, with the noise prior under which its nodes are most probable."""
        count, rss = self.count.reshape(n_trees, -1), self.rss.reshape(n_trees, -1)
        weights = self.weights.reshape(*count.shape, 1, -1)
        sketch = self.sketch.reshape(*count.shape, *self.sketch.shape[1:])
        priors = fit_noise_priors(count, rss)
        levels = []
        for number, prior in enumerate(priors):
            deviation = np.sqrt(prior.noise_after(count[number], rss[number]))
            levels.append(
                Level(
                    leaves_per_node,
                    to_half_precision(weights[number], deviation),
                    to_half_precision(sketch[number], np.full(len(deviation), SKETCH_TOLERANCE)),
                    count[number].astype(np.float32),
                    # One target may be beyond all others together by more than float32 holds.
                    np.minimum(rss[number], np.finfo(np.float32).max).astype(np.float32),
                    prior,
                )
            )
        return levels
