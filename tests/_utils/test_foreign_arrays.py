"""Arrays of PyTorch and CuPy as those of NumPy."""

import numpy as np
import pytest

from ssgp import SSGPRegressor
from ssgp._utils.foreign_arrays import on_host
from ssgp.engine.on_card.backend import torch


class OnGpu:
    """What CuPy's arrays offer; their numbers cannot be read but by `get`."""

    __cuda_array_interface__ = None

    def __init__(self, values):
        self._values, self.shape, self.ndim = values, values.shape, values.ndim

    def __len__(self):
        return len(self._values)

    def __array__(self, *args, **keywords):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def get(self):
        return self._values


def test_tensors_of_the_processor_are_not_copied():
    tensor = torch.ones(3, 2, requires_grad=True)
    array = on_host(tensor)
    assert type(array) is np.ndarray
    assert array.ctypes.data == tensor.data_ptr()


def test_arrays_of_a_gpu_are_fetched(rng):
    values = rng.normal(size=(4, 2))
    assert on_host(OnGpu(values)) is values


def test_all_else_stays_as_it_is():
    for values in ([1.0, 2.0], np.ones(2), None, "text"):
        assert on_host(values) is values


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (torch.ones(2, dtype=torch.bfloat16), "tensor of torch.bfloat16 on the device cpu"),
        (torch.eye(2).to_sparse(), "the layout torch.sparse_coo"),
        (torch.ones(2, device="meta"), "on the device meta"),
    ],
)
def test_tensors_that_are_no_arrays_are_refused_with_what_to_give(tensor, said):
    with pytest.raises(ValueError, match=f"{said}.*give a dense one of torch.float32 or torch.float64"):
        on_host(tensor)


@pytest.mark.parametrize("given", [torch.as_tensor, OnGpu])
def test_every_regressor_takes_them(given, rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    one, other = (SSGPRegressor(n_frequencies=3, max_iter=3, n_restarts=1, random_state=0) for _ in range(2))
    weight = rng.uniform(1, 2, size=40)
    one.fit(X, y, weight)
    other.fit(given(X), given(y), given(weight))
    np.testing.assert_array_equal(one.predict(X), other.predict(given(X)))
    np.testing.assert_array_equal(one.log_prob(X, y), other.log_prob(given(X), given(y)))
