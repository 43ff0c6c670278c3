"""What an endpoint reports moves the factor: up at once, down slowly, and never by one accident."""

import pytest

from graph_agent.models.calibration import PERIOD, Calibration

COUNTED = 10_000
Reports = list[int | None]


@pytest.mark.parametrize(
    ("reports", "factor"),
    [
        pytest.param([], 1.0, id="nothing yet"),
        pytest.param([10_000], 1.0, id="as counted"),
        pytest.param([13_000], 1.3, id="more: at once"),
        pytest.param([10_100], 1.05, id="a little more: the next step up"),
        pytest.param([12_000, 13_000, 12_000], 1.3, id="the most of late"),
        pytest.param([13_000, 10_000], 1.3, id="one lower report changes nothing"),
        pytest.param([13_000] + [10_000] * (PERIOD - 1), 1.3, id="not down by a single period"),
        pytest.param([13_000] + [10_000] * (2 * PERIOD), 1.0, id="down after a whole one"),
        pytest.param([13_000] + [10_000, 11_200] * PERIOD, 1.15, id="down to the highest"),
        pytest.param([8_000] * PERIOD, 1.0, id="never below 1"),
        pytest.param([13_000] + [10_000] * (2 * PERIOD) + [12_000], 1.2, id="up again at once"),
        pytest.param([20_000], 2.0, id="twice as many"),
        pytest.param([None, 0, -5], 1.0, id="no report"),
        pytest.param([100_000], 1.0, id="ten times as many, once"),
        pytest.param([100_000, 10_000, 100_000], 1.0, id="ten times as many, now and then"),
        pytest.param([100_000, 100_000], 2.0, id="ten times as many, always"),
        pytest.param([1, 10_000, 1, 100_000], 1.0, id="wild both ways"),
        pytest.param([12_000, 1, None, 0, 10**9], 1.2, id="wild ones leave what was learned"),
    ],
)
def test_factor(reports: Reports, factor: float) -> None:
    calibration = Calibration()

    for reported in reports:
        calibration.observe(COUNTED, reported)

    assert calibration.factor == factor


@pytest.mark.parametrize("estimated", [-1, 0, 20, 199])
def test_small_prompts_teach_nothing(estimated: int) -> None:
    calibration = Calibration()

    calibration.observe(estimated, 2 * estimated + 50)

    assert calibration.factor == 1.0


def test_it_stands_still_while_the_ratio_goes_up_and_down() -> None:
    calibration = Calibration()

    factors = []
    for number in range(500):
        calibration.observe(COUNTED, 11_900 - 300 * (number % 11))
        factors.append(calibration.factor)

    assert factors == [1.2] * 500
