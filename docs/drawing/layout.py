"""Where boxes and arrows of a layered picture go: few crossings, no overlaps, arrows around the boxes between."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Layout", "lay_out"]

# Sweeps over the layers that order them, and that place them.
ORDERING_SWEEPS = 12
PLACING_SWEEPS = 400
# How hard neighbours pull: two boxes, a box and a bend of an arrow, and two bends, which makes arrows straight.
PULLS = (1.0, 2.0, 50.0)
# Between two arrows at one box.
PORT_GAP = 22.0

# A box, or the bend of an arrow between two boxes in a layer that it passes.
Node = str | tuple[str, str, int]
Arrow = tuple[str, str]
Links = list[tuple[Node, Node]]
Rows = list[list[Node]]


@dataclass(frozen=True)
class Layout:
    """Horizontal places.

    Attributes
    ----------
    centres : dict of float
        Centre of each box.
    bends : dict of list of float
        For each arrow, where it leaves its box, passes the layers between, and arrives.
    """

    centres: dict[str, float]
    bends: dict[Arrow, list[float]]


def lay_out(
    layers: Sequence[Sequence[str]], arrows: Iterable[Arrow], width: float, box_width: float, gap: float
) -> Layout:
    """Places of boxes of one width in layers, and of arrows that all point down, in a picture of some width."""
    layer_of = {box: number for number, layer in enumerate(layers) for box in layer}
    chains = {arrow: _chain(arrow, layer_of) for arrow in sorted(arrows)}
    links = [link for chain in chains.values() for link in pairwise(chain)]
    rows: Rows = [list(layer) for layer in layers]
    for (above, _), chain in chains.items():
        for number, bend in enumerate(chain[1:-1], layer_of[above] + 1):
            rows[number].append(bend)
    x = _placed(_ordered(rows, links), links, width, box_width, gap)
    starts = _ports({arrow: chain[:2] for arrow, chain in chains.items()}, x, box_width)
    ends = _ports({arrow: chain[:-3:-1] for arrow, chain in chains.items()}, x, box_width)
    bends = {a: [starts[a], *(x[bend] for bend in chain[1:-1]), ends[a]] for a, chain in chains.items()}
    return Layout({box: x[box] for box in layer_of}, bends)


def _chain(arrow: Arrow, layer_of: dict[str, int]) -> list[Node]:
    """An arrow's box, its bends, and its other box."""
    above, below = arrow
    return [above, *((above, below, layer) for layer in range(layer_of[above] + 1, layer_of[below])), below]


def _ordered(rows: Rows, links: Links) -> Rows:
    """Nodes of each layer in the order with the fewest crossings that was found."""
    best = rows
    for sweep in range(ORDERING_SWEEPS):
        rows = [list(row) for row in rows]
        _sort_by_neighbours(rows, links, down=sweep % 2 == 0)
        _swap_neighbours(rows, links)
        best = min(best, rows, key=lambda found: _n_crossings(found, links))
    return best


def _sort_by_neighbours(rows: Rows, links: Links, down: bool) -> None:
    """Sort each layer by the mean place of its nodes' neighbours in the layer before, from the top or the bottom."""
    for before, row in pairwise(rows if down else rows[::-1]):
        places = {node: float(place) for place, node in enumerate(before)}
        found: dict[Node, list[float]] = {node: [] for node in row}
        for upper, lower in links:
            near, node = (upper, lower) if down else (lower, upper)
            if node in found and near in places:
                found[node].append(places[near])
        kept = {node: float(place) for place, node in enumerate(row)}
        row.sort(key=lambda node: sum(found[node]) / len(found[node]) if found[node] else kept[node])


def _swap_neighbours(rows: Rows, links: Links) -> None:
    """Exchange neighbours in a layer while that takes crossings away."""
    fewest, better = _n_crossings(rows, links), True
    while better:
        better = False
        for row in rows:
            for k in range(len(row) - 1):
                row[k], row[k + 1] = row[k + 1], row[k]
                crossings = _n_crossings(rows, links)
                if crossings < fewest:
                    fewest, better = crossings, True
                else:
                    row[k], row[k + 1] = row[k + 1], row[k]


def _n_crossings(rows: Rows, links: Links) -> int:
    place = {node: (number, k) for number, row in enumerate(rows) for k, node in enumerate(row)}
    by_layer: dict[int, list[tuple[int, int]]] = {}
    for upper, lower in links:
        by_layer.setdefault(place[upper][0], []).append((place[upper][1], place[lower][1]))
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0 for pairs in by_layer.values() for i, a in enumerate(pairs) for b in pairs[:i]
    )


def _placed(rows: Rows, links: Links, width: float, box_width: float, gap: float) -> dict[Node, float]:
    """Centres near those of the neighbours above and below, without overlaps."""
    x = {node: width * (k + 0.5) / len(row) for row in rows for k, node in enumerate(row)}
    half = {node: box_width / 2 if isinstance(node, str) else 0.0 for node in x}
    pulls: dict[Node, dict[Node, float]] = {node: {} for node in x}
    for upper, lower in links:
        pulls[upper][lower] = pulls[lower][upper] = PULLS[sum(not isinstance(node, str) for node in (upper, lower))]
    for _ in range(PLACING_SWEEPS):
        for row in (*rows, *reversed(rows)):
            wanted = [_mean(x, pulls[node] or {node: 1.0}) for node in row]
            weights = [sum(pulls[node].values()) or 1.0 for node in row]
            room = [half[a] + half[b] + gap for a, b in pairwise(row)]
            x |= zip(row, _apart(wanted, weights, room, half[row[0]], width - half[row[-1]]), strict=True)
    return x


def _mean(x: dict[Node, float], weights: dict[Node, float]) -> float:
    return sum(weight * x[node] for node, weight in weights.items()) / sum(weights.values())


def _apart(wanted: list[float], weights: list[float], room: list[float], low: float, high: float) -> list[float]:
    """Numbers nearest to those wanted, by least squares, in their order, with this room between them and two ends."""
    offsets = [sum(room[:k]) for k in range(len(wanted))]
    # Neighbours that are too near each other are pooled, and move together from then on.
    pools: list[tuple[float, float, int]] = []
    for value, weight, offset in zip(wanted, weights, offsets, strict=True):
        pools.append((value - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (b, weight_b, n_b), (a, weight_a, n_a) = pools.pop(), pools.pop()
            total = weight_a + weight_b
            pools.append(((a * weight_a + b * weight_b) / total, total, n_a + n_b))
    levels = [min(max(level, low), high - offsets[-1]) for level, _, count in pools for _ in range(count)]
    return [level + offset for level, offset in zip(levels, offsets, strict=True)]


def _ports(ends: dict[Arrow, list[Node]], x: dict[Node, float], box_width: float) -> dict[Arrow, float]:
    """Where arrows touch a box, side by side; an arrow's end is its box and the node that it comes from or goes to."""
    ports: dict[Arrow, float] = {}
    for box in {end[0] for end in ends.values()}:
        arrows = sorted((arrow for arrow in ends if ends[arrow][0] == box), key=lambda arrow: x[ends[arrow][1]])
        step = min(PORT_GAP, 0.8 * box_width / len(arrows))
        for k, arrow in enumerate(arrows):
            ports[arrow] = x[box] + step * (k - (len(arrows) - 1) / 2)
    return ports
