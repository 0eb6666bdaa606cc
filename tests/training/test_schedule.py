"""The paper's learning rate, ours, and when passes join."""

import pytest

from idemnet.parameters.train import TrainParameters
from idemnet.training.schedule import learning_rate, passes_in


@pytest.mark.parametrize(("epoch", "rate"), [(0, 1e-4), (499, 1e-4), (500, 5e-5), (2999, 3.125e-6)])
def test_the_paper_halves_its_rate_every_500_epochs(epoch, rate):
    assert learning_rate(TrainParameters(), epoch * 350 + 17, 350) == pytest.approx(rate)


def test_cosine_falls_to_zero_after_rising():
    parameters = TrainParameters(schedule="cosine", epochs=10, warmup_steps=5, learning_rate=1e-3)
    rates = [learning_rate(parameters, step, 10) for step in range(100)]
    assert rates[0] == pytest.approx(2e-4)
    assert max(rates) == pytest.approx(1e-3, rel=0.01)
    assert rates[5:] == sorted(rates[5:], reverse=True) and rates[-1] < 1e-6


def test_the_second_pass_joins_after_the_warm_up():
    parameters = TrainParameters(single_pass_epochs=3)
    assert [passes_in(parameters, epoch) for epoch in range(5)] == [1, 1, 1, 2, 2]
    assert passes_in(TrainParameters(), 0) == 2
