"""Even k-means: blocks around centres, all of the same number of rows."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.threads import one_blas_thread, openmp_threads
from ssgp.rows.partition import NearestCentre

__all__ = ["even_kmeans"]

KMEANS_ROWS_PER_BLOCK = 1000
KMEANS_PAIRS = 20_000_000


def even_kmeans(X: Array, n_blocks: int, rng: np.random.Generator, metric: Array) -> tuple[NearestCentre, Indices]:
    """k-means made even: crowded centres raise a price on distance until all hold the same number of rows.

    Sizes differ by at most one row. New rows go to the centre that is nearest with its price.
    """
    scaled = X * metric
    most = min(KMEANS_ROWS_PER_BLOCK * n_blocks, max(n_blocks, KMEANS_PAIRS // n_blocks))
    sample = scaled if len(X) <= most else scaled[rng.choice(len(X), most, replace=False)]
    if len(np.unique(sample, axis=0)) < n_blocks:
        centres = sample[rng.choice(len(sample), n_blocks, replace=False)]
    else:
        seed = int(rng.integers(2**31 - 1))
        kmeans = KMeans(n_blocks, n_init=1, max_iter=50, random_state=seed)  # pyright: ignore[reportArgumentType]
        # Its threads add up centres in the order in which they come.
        with one_blas_thread(), openmp_threads(1):
            centres = kmeans.fit(sample).cluster_centers_
    partition = NearestCentre(_with_price(centres, _even_prices(sample, centres)), metric)
    return partition, _assign_evenly(partition.lift(X), partition.centres)


def _even_prices(X: Array, centres: Array, n_rounds: int = 200) -> Array:
    """Prices at which each centre is the cheapest for about as many rows as any other."""
    squared = euclidean_distances(X, centres, squared=True).astype(np.float32)
    price, unit = np.zeros(len(centres), np.float32), float(squared.min(axis=1).mean())
    for t in range(n_rounds):
        counts = np.bincount(np.argmin(squared + price, axis=1), minlength=len(centres))
        excess = np.clip(counts * (len(centres) / len(X)) - 1.0, -1.0, 1.0)
        price += (2.0 * unit * excess / (1.0 + t / 10.0) ** 0.5).astype(np.float32)
    return price


def _with_price(centres: Array, price: Array) -> Array:
    """Centres with one more coordinate, which adds the price to every squared distance."""
    return np.column_stack([centres, np.sqrt(price - price.min())])


def _assign_evenly(X: Array, centres: Array) -> Indices:
    """Fill every centre with its nearest rows; who finds it full asks the next nearest."""
    n_rows, n_blocks = len(X), len(centres)
    labels = np.full(n_rows, -1)
    room = np.full(n_blocks, n_rows // n_blocks)
    waiting = np.arange(n_rows)
    while len(waiting):
        if not room.any():
            # Every block has its even share: the remainder goes to blocks of one more row.
            room[:] = 1
        open_ = np.flatnonzero(room)
        with one_blas_thread(), openmp_threads():
            nearest, distance = pairwise_distances_argmin_min(X[waiting], centres[open_])
        block = open_[nearest]
        by_block = np.lexsort((distance, block))
        first = np.searchsorted(block[by_block], np.arange(n_blocks))
        rank = np.arange(len(waiting)) - first[block[by_block]]
        accepted = by_block[rank < room[block[by_block]]]
        labels[waiting[accepted]] = block[accepted]
        room -= np.bincount(block[accepted], minlength=n_blocks)
        waiting = np.delete(waiting, accepted)
    return labels
