import numpy as np
import pytest

from ssgp.spectrum.optimizers import Adam, EagerAdam, RobbinsMonro


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adam_is_the_textbook_one(rng, dtype):
    x, adam = np.zeros(5, dtype), Adam(0.1)
    mean, square, expected = np.zeros(5), np.zeros(5), np.zeros(5)
    for t in range(1, 40):
        gradient = rng.normal(size=5)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        expected += 0.1 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.99**t)) + 1e-8)
        step = adam.step(gradient.astype(dtype), 1.0)
        assert step.dtype == dtype
        x += step
    np.testing.assert_allclose(x, expected, rtol=1e-4 if dtype == np.float32 else 1e-10)


def test_shrink_scales_adams_step(rng):
    gradient = rng.normal(size=4)
    full, half = Adam(0.1).step(gradient.copy(), 1.0), Adam(0.1).step(gradient.copy(), 0.5)
    np.testing.assert_allclose(half, 0.5 * full)


def changes(optimizer, gradients, factor=1.0):
    return np.array([optimizer.step(gradient.copy(), factor) for gradient in gradients])


@pytest.mark.parametrize("make", [lambda: Adam(0.1), lambda: EagerAdam(0.1, 1), lambda: RobbinsMonro(0.1, 0.6)])
def test_after_a_restart_steps_are_those_of_a_new_optimizer(make, rng):
    used, gradients = make(), rng.normal(size=(5, 4))
    changes(used, rng.normal(size=(7, 4)))
    used.restart()
    np.testing.assert_array_equal(changes(used, gradients), changes(make(), gradients))


class TestEagerAdam:
    """Vectors of three frequencies, two lengthscales, the signal and the noise."""

    def test_gradients_that_agree_make_tenfold_steps(self):
        gradients = np.tile([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0], (60, 1))
        eager, plain = changes(EagerAdam(0.1, 2), gradients), changes(Adam(0.1), gradients)
        # Neither frequencies nor a lengthscale that falls are hurried.
        np.testing.assert_allclose(eager[-1] / plain[-1], [1, 1, 1, 10, 1, 10, 10], rtol=0.02)

    def test_the_first_steps_are_those_of_adam(self):
        eager, plain = changes(EagerAdam(0.1, 2), np.ones((1, 7))), changes(Adam(0.1), np.ones((1, 7)))
        np.testing.assert_allclose(eager, plain, rtol=1e-3)

    def test_noise_is_hardly_hurried(self, rng):
        gradients = rng.normal(size=(2000, 7))
        eager, plain = changes(EagerAdam(0.1, 2), gradients), changes(Adam(0.1), gradients)
        assert np.abs(eager[100:]).mean() < 1.25 * np.abs(plain[100:]).mean()

    def test_no_jump_of_the_gradient_makes_more_than_tenfold_steps(self):
        gradients = np.concatenate([np.full((200, 7), 1e-3), np.full((20, 7), 1e3)])
        eager, plain = changes(EagerAdam(0.1, 2), gradients), changes(Adam(0.1), gradients)
        assert (eager[200:] <= 10.0 * plain[200:] * (1 + 1e-9)).all()

    def test_smaller_steps_are_hurried_as_much(self):
        gradients = np.ones((30, 7))
        full, tenth = changes(EagerAdam(0.1, 2), gradients), changes(EagerAdam(0.1, 2), gradients, 0.1)
        np.testing.assert_allclose(tenth, 0.1 * full)


@pytest.mark.parametrize("decay", [0.6, 1.0])
def test_robbins_monro_steps_sum_to_infinity_but_not_their_squares(decay):
    optimizer = RobbinsMonro(0.5, decay, delay=10.0)
    steps = np.array([optimizer.step(np.ones(1), 1.0)[0] for _ in range(20_000)])
    np.testing.assert_allclose(steps, 0.5 * (1 + np.arange(20_000) / 10.0) ** -decay)
    # Doubling the number of steps keeps adding to the sum, and less and less to the sum of squares.
    assert steps[10_000:].sum() > 0.5 * steps[5_000:10_000].sum()
    assert (steps[10_000:] ** 2).sum() < 0.9 * (steps[5_000:10_000] ** 2).sum()


def test_robbins_monro_finds_the_root_of_a_noisy_gradient(rng):
    x, optimizer = np.array([3.0]), RobbinsMonro(0.5, 0.8)
    for _ in range(20_000):
        x += optimizer.step(1.0 - x + rng.normal(size=1), 1.0)
    assert abs(x[0] - 1.0) < 0.15


def test_robbins_monro_bounds_a_wild_step():
    assert np.abs(RobbinsMonro(0.5, 0.6).step(np.array([1e30, -1e30]), 1.0)).max() == 1.0
