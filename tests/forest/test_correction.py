"""How far a correction moves predictions."""

import numpy as np

from ssgp.forest.correction import Correction


class Step:
    """Stands for a booster: one deviation up where the last input is positive."""

    def predict(self, X):
        return np.where(X[:, -1] > 0, 1.0, 0.0)


def test_shifts_are_in_deviations_of_the_noise():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 1.0]])
    shift = Correction((Step(),), 0.5)(X, np.zeros(3), np.array([2.0, 2.0, 0.1]), 1)
    np.testing.assert_allclose(shift, [1.0, 0.0, 0.05])


def test_a_start_below_one_moves_predictions_towards_the_boosted_trees_own():
    X, mean = np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([4.0, -3.0])
    shift = Correction((Step(),), 1.0, start=0.25)(X, mean, np.array([2.0, 2.0]), 1)
    np.testing.assert_allclose(mean + shift, 0.25 * mean + [2.0, 0.0])


def test_boosted_trees_that_are_informed_know_the_prediction():
    X, mean = -np.ones((3, 2)), np.array([4.0, -3.0, 0.5])
    shift = Correction((Step(),), 0.5, informed=True)(X, mean, np.array([2.0, 2.0, 0.1]), 1)
    np.testing.assert_allclose(shift, [1.0, 0.0, 0.05])
