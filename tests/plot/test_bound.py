"""The trace of the bound, and its running mean."""

import numpy as np
import pytest

from ssgp import plot


class TestBound:
    @pytest.mark.slow
    def test_is_in_nats_a_row_and_smoothed_by_a_running_mean(self, fitted):
        model = fitted("forest")
        display = plot.BoundDisplay.from_estimator(model)
        np.testing.assert_array_equal(display.bounds, model.bound_trace_)
        window = len(display.bounds) // 20
        expected = [display.bounds[max(i - window + 1, 0) : i + 1].mean() for i in range(len(display.bounds))]
        np.testing.assert_allclose(display.smooth(), expected)

    def test_steps_that_were_skipped_are_left_out(self):
        display = plot.BoundDisplay([-np.inf, 1.0, 3.0]).plot()
        np.testing.assert_array_equal(display.smooth(), [np.nan, 1.0, 3.0])
        assert display.ax_.get_ylim() == pytest.approx((0.9, 3.1))

    @pytest.mark.slow
    def test_where_there_is_none_the_message_says_so(self, fitted):
        with pytest.raises(ValueError, match="ExactGPRegressor has no trace of a bound"):
            plot.BoundDisplay.from_estimator(fitted("exact"))
