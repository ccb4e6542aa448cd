"""Functions of many short kernels, which a GPU captures as a graph and starts together."""

from collections.abc import Callable

from ssgp._utils.arrays import Array
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card

__all__ = ["captured"]

# Runs before a graph is captured, in which libraries get ready.
WARM_UP = 2


def captured(card: Card, function: Callable[..., Tensor]) -> Callable[..., Array]:
    """A function of arrays, by one of tensors on the card: where that is a GPU, as a graph for arrays of each shape."""
    graphs = dict[tuple[tuple[int, ...], ...], Callable[..., Array]]()

    def run(*arrays: Array) -> Array:
        if not card.is_gpu:
            return card.fetch(function(*map(card.send, arrays)))
        shapes = tuple(values.shape for values in arrays)
        if shapes not in graphs:
            graphs[shapes] = _graph(card, function, *arrays)
        return graphs[shapes](*arrays)

    return run


def _graph(card: Card, function: Callable[..., Tensor], *examples: Array) -> Callable[..., Array]:
    inputs = [card.send(values.copy()) for values in examples]
    staged = [torch.from_numpy(values.copy()).pin_memory() for values in examples]
    stream = torch.cuda.Stream(card.name)
    # What the function knows of is there before it runs beside.
    stream.wait_stream(torch.cuda.current_stream(card.name))
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            function(*inputs)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            found = function(*inputs)
    out = torch.empty(found.shape, dtype=found.dtype).pin_memory()

    def run(*arrays: Array) -> Array:
        with torch.cuda.stream(stream):
            for values, stage, tensor in zip(arrays, staged, inputs, strict=True):
                stage.numpy()[...] = values
                tensor.copy_(stage, non_blocking=True)
            graph.replay()
            out.copy_(found, non_blocking=True)
            stream.synchronize()
        return out.numpy().copy()

    return run
