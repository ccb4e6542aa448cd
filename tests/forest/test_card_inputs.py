"""Inputs that are tensors, on the card that predicts and elsewhere."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from devices import CARD, DEVICE
from ssgp import SpectralForestRegressor
from ssgp.engine.on_card.backend import torch
from ssgp.engine.on_card.given import rows_given_on

pytestmark = pytest.mark.card

SMALL = {"n_trees": 2, "max_iter": 10, "n_frequencies": 10, "random_state": 0, "n_jobs": 1}


class LikeCupy:
    """An array of another library on the card, as CuPy offers it."""

    __cuda_array_interface__ = None

    def __init__(self, tensor):
        self._tensor = tensor
        self.shape, self.ndim = tensor.shape, tensor.ndim

    def __len__(self):
        return len(self._tensor)

    def __dlpack__(self, **keywords):
        return self._tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()

    def get(self):
        return CARD.fetch(self._tensor)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=600)


@pytest.fixture(scope="module")
def model(table):
    return SpectralForestRegressor(**SMALL, device=DEVICE).fit(*table)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("wrapped", [lambda tensor: tensor, LikeCupy])
def test_rows_on_the_card_stay_there(dtype, wrapped, model, table, monkeypatch):
    X = torch.as_tensor(table[0]).to(dtype)
    expected, bounds = model.predict(X.numpy()), model.predict_interval(X.numpy())
    given = wrapped(X.to(CARD.name))
    there: Any = rows_given_on(CARD, given, 3)
    assert there.data_ptr() == getattr(given, "_tensor", given).data_ptr()
    monkeypatch.setattr("ssgp.forest.estimator.SpectralForestRegressor._input_rows", None)
    found = model.predict(given)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.predict_interval(given), bounds)


def test_rows_with_gradients_and_of_other_memory_orders(model, table):
    X = torch.as_tensor(table[0]).to(CARD.name)
    expected = model.predict(table[0])
    np.testing.assert_array_equal(model.predict(X.clone().requires_grad_()), expected)
    np.testing.assert_array_equal(model.predict(X.T.contiguous().T), expected)


def test_the_processor_takes_them_too(model, table):
    host = deepcopy(model).set_params(device="cpu")
    X = torch.as_tensor(table[0]).to(CARD.name).requires_grad_()
    np.testing.assert_array_equal(host.predict(X), host.predict(table[0]))


def test_other_types_of_numbers_are_taken_as_arrays_of_them_are(model, table):
    X = torch.as_tensor(table[0]).round().to(torch.int32).to(CARD.name)
    np.testing.assert_array_equal(model.predict(X), model.predict(CARD.fetch(X)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X: X[:, 0], "Expected 2D array"),
        (lambda X: X[:, :2], "X has 2 features, but SpectralForestRegressor is expecting 3"),
        (lambda X: X[:0], "Found array with 0 sample"),
        (lambda X: torch.where(X > 2.0, torch.nan, X), "contains NaN in column"),
        (lambda X: X.to(torch.bfloat16), "give a dense one of torch.float32"),
    ],
)
def test_what_is_wrong_with_them_is_told_as_of_arrays(change, said, model, table):
    with pytest.raises(ValueError, match=said):
        model.predict(change(torch.as_tensor(table[0]).to(CARD.name)))


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_fits_to_tensors_are_those_to_arrays(device, table):
    X, y = table
    weight, groups = np.linspace(1, 2, 600), np.arange(600) // 3
    sent = [torch.as_tensor(values).to(CARD.name) for values in (X, y, weight, groups)]
    one = SpectralForestRegressor(**SMALL, device=device).fit(X, y, weight, groups=groups)
    other = SpectralForestRegressor(**SMALL, device=device).fit(*sent[:3], groups=sent[3])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    time = SpectralForestRegressor(**SMALL, device=device, target="any").fit(*sent[:2], time=sent[3])
    assert time.n_rows_ == 600


@pytest.mark.slow
def test_batches_of_tensors(table):
    X, y = (torch.as_tensor(values).to(CARD.name) for values in table)
    one = SpectralForestRegressor(**SMALL).fit(*table)
    other = SpectralForestRegressor(**SMALL).fit_batches([(X[:300], y[:300]), (X[300:], y[300:])])
    np.testing.assert_array_equal(one.predict(table[0]), other.predict(table[0]))
