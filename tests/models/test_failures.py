from collections.abc import Callable
from typing import Any

import httpx
import pytest
from langchain_core import exceptions as langchain_errors

from graph_agent.errors import (
    ConfigError,
    ContextOverflowError,
    GraphAgentError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from graph_agent.models.failures import classify
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.testing import Drop, HttpError, RawBytes, StrictEndpoint
from graph_agent.testing.replies import Reply

Connect = Callable[..., Any]
pytestmark = pytest.mark.anyio

ONCE = RetryPolicy(max_retries=0)


async def fault_of(connect: Connect, reply: Reply, **endpoint: Any) -> GraphAgentError:
    chat, _ = connect([reply], endpoint)
    with pytest.raises(GraphAgentError) as caught:
        await LanguageModel.of(chat, retry=ONCE).ask(["Hello?"])  # type: ignore[list-item]  # LangChain takes texts
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, ModelUnavailableError) for status in (408, 409, 429, 500, 502, 503, 520, 529)),
        *((status, ModelRefusedError) for status in (400, 401, 402, 403, 404, 422, 501)),
    ],
)
async def test_a_status_decides_the_error(connect: Connect, status: int, kind: type) -> None:
    fault = await fault_of(connect, HttpError(status=status, message="What the server says."))

    assert type(fault) is kind
    assert f"{status}" in str(fault)
    assert "What the server says." in str(fault)
    assert getattr(fault, "status", None) == (status if kind is ModelRefusedError else None)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        pytest.param(
            HttpError(status=429, message="Slow down."),
            "The model's endpoint answered 429: Slow down. Try again later.",
            id="busy",
        ),
        pytest.param(
            HttpError(status=401, message="No such key"),
            "The model's endpoint refused the key (401): No such key. "
            "Check the environment variable that holds it.",
            id="key",
        ),
        pytest.param(
            HttpError(status=404, message="No such model."),
            "The endpoint does not know the model or the address (404): No such model. Check "
            "the model's name and `base_url`; `graph-agent models` lists what is set up.",
            id="address",
        ),
        pytest.param(
            HttpError(status=400, message="This model has no tools."),
            "The model's endpoint refused (400): This model has no tools. If it is about something "
            "that the model cannot do, say so by its `abilities` in graph-agent.toml.",
            id="unable",
        ),
        pytest.param(
            RawBytes(b"<html>", content_type="text/html"),
            "The endpoint answered without a choice: <html>",
            id="a page in place of a reply",
        ),
    ],
)
async def test_the_text_says_what_to_do(connect: Connect, reply: Reply, text: str) -> None:
    assert str(await fault_of(connect, reply)) == text


@pytest.mark.parametrize("profile", ["openai", "qwen", "mistral", "bedrock", "vllm", "llamacpp"])
async def test_a_prompt_that_does_not_fit_is_known_as_such(connect: Connect, profile: str) -> None:
    fault = await fault_of(connect, "never", profile=profile, context_limit=1)

    assert type(fault) is ContextOverflowError
    assert str(fault).startswith("The prompt does not fit the model: ")


async def test_an_overflow_reported_as_429_is_no_rate_limit(connect: Connect) -> None:
    reply = HttpError(status=429, message="Too long.", code="context_length_exceeded")

    assert type(await fault_of(connect, reply)) is ContextOverflowError


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Drop(), id="before any byte"),
        pytest.param(Drop(after=[{"content": "half"}]), id="amid the reply"),
    ],
)
async def test_a_lost_connection_may_come_back(connect: Connect, reply: Reply) -> None:
    fault = await fault_of(connect, reply)

    assert type(fault) is ModelUnavailableError
    assert str(fault).startswith("The model's endpoint cannot be reached: ")
    assert str(fault).endswith(" Check that it runs, and `base_url`.")


async def test_nobody_listens(connect: Connect) -> None:
    with StrictEndpoint() as gone:
        base_url = gone.base_url
    chat, _ = connect([], base_url=base_url)

    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        await LanguageModel.of(chat, retry=ONCE).ask(["Hello?"])  # type: ignore[list-item]  # LangChain takes texts


async def test_a_key_that_a_server_repeats_is_not_passed_on(connect: Connect) -> None:
    reply = HttpError(status=401, message="Received API Key = sk-secret, which is wrong.")

    assert "Received API Key = ***, which is wrong." in str(await fault_of(connect, reply))


async def test_a_key_that_makes_no_legal_header_is_not_passed_on(connect: Connect) -> None:
    chat, endpoint = connect(["fine"], api_key="sk-secret\n")

    with pytest.raises(ModelUnavailableError) as caught:
        await LanguageModel.of(chat, retry=ONCE).ask(["Hello?"])  # type: ignore[list-item]  # LangChain takes texts

    # The endpoint accepts in order: after this it knows the connection that said nothing.
    legal, _ = connect([], base_url=endpoint.base_url)
    assert (await legal.ainvoke("Hello?")).text == "fine"
    assert "***" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


async def test_a_page_of_a_proxy_is_cut_to_a_line(connect: Connect) -> None:
    page = b"<html>\n" + b"<p>Bad gateway</p>\n" * 500

    text = str(await fault_of(connect, HttpError(status=502, body=page)))

    assert len(text) < 600
    assert "\n" not in text


class ForeignError(Exception):
    """An error of another provider's client."""

    def __init__(self, text: str, **facts: object) -> None:
        super().__init__(text)
        self.__dict__.update(facts)


REQUEST = httpx.Request("POST", "http://127.0.0.1")
KNOWN = ConfigError("No weights.")


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        pytest.param(
            ForeignError("busy", status_code=429),
            ModelUnavailableError,
            "busy",
            id="anthropic's way",
        ),
        pytest.param(ForeignError("no", code=400), ModelRefusedError, "no", id="google's way"),
        pytest.param(
            httpx.HTTPStatusError("down", request=REQUEST, response=httpx.Response(503)),
            ModelUnavailableError,
            "down",
            id="httpx's way",
        ),
        pytest.param(
            langchain_errors.ModelConnectionError("gone"),
            ModelUnavailableError,
            "gone",
            id="langchain's way",
        ),
        pytest.param(
            langchain_errors.ContextOverflowError("long"),
            ContextOverflowError,
            "long",
            id="langchain's overflow",
        ),
        pytest.param(
            httpx.ReadTimeout("late"), ModelUnavailableError, "in time", id="httpx timed out"
        ),
        pytest.param(
            httpx.ConnectError("refused"),
            ModelUnavailableError,
            "refused",
            id="httpx not connected",
        ),
        pytest.param(TimeoutError(), ModelUnavailableError, "in time", id="time-out"),
        pytest.param(ConnectionResetError("reset"), ModelUnavailableError, "reset", id="reset"),
        pytest.param(KeyError("x"), ModelError, "KeyError: 'x'", id="anything else"),
    ],
)
def test_other_clients_errors_are_sorted_too(error: Exception, kind: type, text: str) -> None:
    fault = classify(error)

    assert type(fault) is kind
    assert text in str(fault)


def test_our_own_errors_stay_as_they_are() -> None:
    assert classify(KNOWN) is KNOWN
