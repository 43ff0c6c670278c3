import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from graph_agent.errors import (
    ConfigError,
    ContextOverflowError,
    GraphAgentError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.settings import Settings
from graph_agent.testing import Deltas, Drop, HttpError

Connect = Callable[..., Any]
pytestmark = pytest.mark.anyio

BUSY = ModelUnavailableError("Busy.")


@dataclass
class FakeTime:
    """A clock that moves only by sleeping."""

    now: float = 1_000.0
    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def policy(self, **limits: Any) -> RetryPolicy:
        return RetryPolicy(sleep=self.sleep, clock=lambda: self.now, **limits)


@dataclass
class Attempts:
    """Fails with each fault in turn, then succeeds."""

    faults: list[Exception]
    made: int = 0

    async def __call__(self) -> str:
        self.made += 1
        if self.made <= len(self.faults):
            raise self.faults[self.made - 1]
        return "done"


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


async def test_passing_faults_are_tried_again_ever_later(time: FakeTime) -> None:
    attempts = Attempts([BUSY] * 8)

    assert await time.policy(max_retries=8, deadline=1e9).call(attempts) == "done"

    longest = [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert [most / 2 <= wait <= most for wait, most in zip(time.waits, longest, strict=True)]


@pytest.mark.parametrize(
    ("fault", "made"),
    [
        pytest.param(BUSY, 3, id="a passing fault, to the last try"),
        pytest.param(TimeoutError(), 3, id="a time-out"),
        pytest.param(ModelRefusedError("No."), 1, id="a refusal"),
        pytest.param(ContextOverflowError("Long."), 1, id="an overflow"),
        pytest.param(ConfigError("Wrong."), 1, id="a wrong setting"),
        pytest.param(KeyError("x"), 1, id="a fault of the program"),
    ],
)
async def test_how_often_a_fault_is_tried(time: FakeTime, fault: Exception, made: int) -> None:
    attempts = Attempts([fault] * 9)

    with pytest.raises(GraphAgentError):
        await time.policy(max_retries=2).call(attempts)

    assert attempts.made == made


async def test_no_try_starts_after_the_deadline(time: FakeTime) -> None:
    attempts = Attempts([BUSY] * 99)

    with pytest.raises(ModelUnavailableError):
        await time.policy(max_retries=99, deadline=20).call(attempts)

    assert sum(time.waits) <= 20
    assert attempts.made == len(time.waits) + 1
    assert 4 < attempts.made < 99


async def test_a_fault_names_its_cause_and_never_itself(time: FakeTime) -> None:
    with pytest.raises(ModelError) as foreign:
        await time.policy().call(Attempts([KeyError("x")]))
    with pytest.raises(ModelRefusedError) as ours:
        await time.policy().call(Attempts([ModelRefusedError("No.")]))

    assert isinstance(foreign.value.__cause__, KeyError)
    assert ours.value.__cause__ is None


async def test_the_policy_comes_from_the_settings() -> None:
    settings = Settings(max_retries=7, retry_deadline=9, database="memory:")

    assert RetryPolicy.of(settings) == RetryPolicy(max_retries=7, deadline=9)


@pytest.mark.parametrize(
    ("header", "waits"),
    [
        pytest.param("7", [7.0], id="seconds"),
        pytest.param("0.25", [0.25], id="part of a second"),
        pytest.param("0", [0.0], id="at once"),
        pytest.param("45", [45.0], id="longer than we would wait by ourselves"),
        pytest.param(formatdate(0, usegmt=True), [0.0], id="a date that is past"),
    ],
)
async def test_the_endpoint_says_how_long_to_wait(
    connect: Connect, time: FakeTime, header: str, waits: list[float]
) -> None:
    chat, endpoint = connect([HttpError(status=429, headers=[("retry-after", header)]), "done"])

    reply = await LanguageModel.of(chat, retry=time.policy()).ask([HumanMessage("Hello?")])

    assert (reply.text, time.waits) == ("done", waits)
    assert [request.body for request in endpoint.requests] == [endpoint.requests[0].body] * 2


async def test_a_date_to_come_is_waited_for(connect: Connect, time: FakeTime) -> None:
    soon = formatdate(clock.time() + 50, usegmt=True)
    chat, _ = connect([HttpError(status=429, headers=[("retry-after", soon)]), "done"])

    await LanguageModel.of(chat, retry=time.policy()).ask([HumanMessage("Hello?")])

    assert [45 <= wait <= 50 for wait in time.waits] == [True]


async def test_milliseconds_go_before_seconds(connect: Connect, time: FakeTime) -> None:
    headers = [("retry-after", "1"), ("retry-after-ms", "250")]
    chat, _ = connect([HttpError(status=429, headers=headers), "done"])

    await LanguageModel.of(chat, retry=time.policy()).ask([HumanMessage("Hello?")])

    assert time.waits == [0.25]


async def test_a_deadline_may_have_begun_before(time: FakeTime) -> None:
    attempts = Attempts([BUSY] * 9)

    with pytest.raises(ModelUnavailableError):
        await time.policy(deadline=20).call(attempts, since=time.now - 20)

    assert (attempts.made, time.waits) == (1, [])


@pytest.mark.parametrize("header", ["soon", "-1", "nan", "Mon, 99 Jan 99999 00:00:00 GMT"])
async def test_a_wait_that_makes_no_sense_is_ours(
    connect: Connect, time: FakeTime, header: str
) -> None:
    chat, _ = connect([HttpError(status=503, headers=[("retry-after", header)]), "done"])

    await LanguageModel.of(chat, retry=time.policy()).ask([HumanMessage("Hello?")])

    assert [0.25 <= wait <= 0.5 for wait in time.waits] == [True]


async def test_who_is_to_wait_beyond_the_deadline_gives_up_at_once(
    connect: Connect, time: FakeTime
) -> None:
    chat, endpoint = connect([HttpError(status=429, headers=[("retry-after", "3600")])])

    with pytest.raises(ModelUnavailableError, match="429"):
        await LanguageModel.of(chat, retry=time.policy()).ask([HumanMessage("Hello?")])

    assert (endpoint.asked, time.waits) == (1, [])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_asked_once(connect: Connect, time: FakeTime, status: int) -> None:
    chat, endpoint = connect([HttpError(status=status)])

    with pytest.raises(ModelRefusedError):
        await LanguageModel.of(chat, retry=time.policy()).ask([HumanMessage("Hello?")])

    assert endpoint.asked == 1


async def test_a_stream_is_tried_again_only_before_its_first_piece(
    connect: Connect, time: FakeTime
) -> None:
    half = Deltas([{"content": "Hello wor"}, {"error": {"message": "overloaded"}}])
    chat, endpoint = connect([Drop(), HttpError(status=503), half])
    model, shown = LanguageModel.of(chat, retry=time.policy()), list[str]()

    async def watch() -> None:
        async for piece in model.stream([HumanMessage("Hello?")]):
            shown.append(piece.text)

    with pytest.raises(ModelUnavailableError, match="broke off: overloaded"):
        await watch()

    assert ("".join(shown), endpoint.asked) == ("Hello wor", 3)


async def test_a_stream_keeps_to_a_deadline_that_began_before(
    connect: Connect, time: FakeTime
) -> None:
    chat, endpoint = connect([HttpError(status=503), "never"])
    model = LanguageModel.of(chat, retry=time.policy(deadline=20))

    with pytest.raises(ModelUnavailableError, match="503"):
        await anext(aiter(model.stream([HumanMessage("Hello?")], since=time.now - 20)))

    assert endpoint.asked == 1
