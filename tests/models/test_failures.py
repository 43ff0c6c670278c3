from collections.abc import Callable
from typing import Any

import httpx
import pytest
from langchain_core import exceptions as langchain_errors
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

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
from graph_agent.testing import Deltas, Drop, Gate, Held, HttpError, RawBytes, StrictEndpoint
from graph_agent.testing.replies import Reply

Connect = Callable[..., Any]
pytestmark = pytest.mark.anyio

ONCE = RetryPolicy(max_retries=0)


async def fault_of(connect: Connect, reply: Reply, **endpoint: Any) -> GraphAgentError:
    chat, _ = connect([reply], endpoint)
    with pytest.raises(GraphAgentError) as caught:
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("Hello?")])
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


OVERFLOWS = {
    "openai": (
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "130002 tokens. Please reduce the length of the messages.",
    ),
    "openai, newer": (
        400,
        "Your input exceeds the context window of this model. Please adjust your input.",
    ),
    "openai, one request over a minute's tokens": (
        429,
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
        "Requested 45000. The input or output tokens must be reduced in order to run successfully.",
    ),
    "azure": (
        400,
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.",
    ),
    "vllm": (
        400,
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens "
        "(4488 in the messages, 512 in the completion).",
    ),
    "vllm, decoder": (
        400,
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    ),
    "vllm, total": (
        500,
        "The prompt (total length 5000) is too long to fit into the model (context length 4096).",
    ),
    "llama.cpp": (
        400,
        "the request exceeds the available context size. try increasing the context size or "
        "enable context shift",
    ),
    "llama.cpp, newer": (
        400,
        "request (9021 tokens) exceeds the available context size (8192 tokens), try increasing it",
    ),
    "llama.cpp, amid": (500, "Context size has been exceeded."),
    "ollama": (400, "the input length exceeds the context length"),
    "ollama, newer": (400, "prompt too long; exceeded max context length by 12 tokens"),
    "lm studio": (
        400,
        "The number of tokens to keep from the initial prompt is greater than the context length.",
    ),
    "anthropic": (400, "prompt is too long: 208310 tokens > 200000 maximum"),
    "anthropic, with the reply": (
        400,
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    ),
    "anthropic, bytes": (413, "Request exceeds the maximum allowed number of bytes."),
    "bedrock": (400, "Input is too long for requested model."),
    "groq": (400, "Please reduce the length of the messages or completion."),
    "groq, tokens per minute": (
        413,
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000, "
        "please reduce your message size and try again.",
    ),
    "deepseek": (
        400,
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens "
        "(66000 in the messages, 4000 in the completion).",
    ),
    "gemini": (
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "mistral": (
        400,
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
    ),
    "xai": (
        400,
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    ),
    "moonshot": (400, "Invalid request: Your request exceeded model token limit: 8192"),
    "text-generation-inference": (
        422,
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500",
    ),
    "dashscope": (400, "Range of input length should be [1, 30720]"),
    "a proxy": (413, "Request Entity Too Large"),
}


@pytest.mark.parametrize(("status", "words"), OVERFLOWS.values(), ids=OVERFLOWS)
async def test_a_prompt_that_does_not_fit_is_known_by_its_words(
    connect: Connect, status: int, words: str
) -> None:
    fault = await fault_of(connect, HttpError(status=status, message=words))

    assert (type(fault), getattr(fault, "status", None)) == (ContextOverflowError, status)


BUSY = {
    "azure": "Requests have exceeded token rate limit of your current OpenAI S0 pricing tier. "
    "Please retry after 20 seconds.",
    "anthropic": "This request would exceed your organization's rate limit of 40,000 input tokens "
    "per minute.",
    "openai": "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29500, "
    "Requested 1000. Please try again in 1s.",
    "groq": "Rate limit reached for model `x` on tokens per day (TPD): Limit 100000, Used 99000, "
    "Requested 3000. Please try again in 28m.",
    "gemini": "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: "
    "250000. Please retry in 20s.",
}


@pytest.mark.parametrize("words", BUSY.values(), ids=BUSY)
async def test_too_many_tokens_in_a_minute_are_no_overflow(connect: Connect, words: str) -> None:
    fault = await fault_of(connect, HttpError(status=429, message=words))

    assert type(fault) is ModelUnavailableError


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "Invalid schema for function `read`: `context` is not of type object.",
    ],
)
async def test_a_refusal_about_tokens_is_no_overflow(connect: Connect, words: str) -> None:
    assert type(await fault_of(connect, HttpError(status=400, message=words))) is ModelRefusedError


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        pytest.param(429, "insufficient_quota", "You exceeded your current quota.", id="openai"),
        pytest.param(429, "exceeded_current_quota_error", "Used up.", id="moonshot"),
        pytest.param(402, None, "Insufficient Balance", id="deepseek"),
        pytest.param(400, None, "Your credit balance is too low to access the API.", id="claude"),
        pytest.param(429, None, "Insufficient balance or no resource package.", id="zhipu"),
    ],
)
async def test_an_account_without_money_is_no_passing_fault(
    connect: Connect, status: int, code: str | None, words: str
) -> None:
    fault = await fault_of(connect, HttpError(status=status, message=words, code=code))

    assert (type(fault), getattr(fault, "status", None)) == (ModelRefusedError, status)
    assert str(fault) == (
        f"The account of the model's endpoint is used up ({status}): {words.rstrip('.')}. "
        "Check its plan and its balance, or use another model."
    )


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param({"message": "overloaded"}, ModelUnavailableError, id="passing"),
        pytest.param({"message": "x", "code": 503}, ModelUnavailableError, id="a status as code"),
        pytest.param({"message": "x", "code": 401}, ModelRefusedError, id="a refusal as code"),
        pytest.param(
            {"message": "x", "type": "invalid_request_error"}, ModelRefusedError, id="a type"
        ),
        pytest.param(
            {"message": "x", "code": "context_length_exceeded"}, ContextOverflowError, id="overflow"
        ),
        pytest.param(
            {"message": "Context size has been exceeded."}, ContextOverflowError, id="by words"
        ),
    ],
)
async def test_an_error_amid_a_stream_is_sorted_too(
    connect: Connect, error: dict[str, Any], kind: type
) -> None:
    chat, _ = connect([Deltas([{"content": "a"}, {"error": error}])])

    with pytest.raises(GraphAgentError) as caught:
        async for _piece in LanguageModel.of(chat, retry=ONCE).stream([HumanMessage("Hello?")]):
            pass

    assert type(caught.value) is kind


def test_what_another_providers_client_wraps_is_looked_into() -> None:
    class TheirConnectionError(Exception):
        pass

    error = TheirConnectionError("Connection error.")
    error.__cause__ = httpx.ConnectError("All connection attempts failed")

    fault = classify(error)

    assert type(fault) is ModelUnavailableError
    assert "All connection attempts failed." in str(fault)


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


async def test_a_connection_that_falls_silent_is_late_not_lost(connect: Connect) -> None:
    gate = Gate()
    chat, _ = connect([Held(gate, "late")], timeout=0.1)

    with pytest.raises(ModelUnavailableError, match="did not answer in time"):
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("Hello?")])
    gate.open()


async def test_nobody_listens(connect: Connect) -> None:
    with StrictEndpoint() as gone:
        base_url = gone.base_url
    chat, _ = connect([], base_url=base_url)

    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("Hello?")])


async def test_a_key_that_a_server_repeats_is_not_passed_on(connect: Connect) -> None:
    reply = HttpError(status=401, message="Received API Key = sk-secret, which is wrong.")

    assert "Received API Key = ***, which is wrong." in str(await fault_of(connect, reply))


async def test_a_key_that_makes_no_legal_header_is_told_of_and_not_shown(connect: Connect) -> None:
    chat, _ = connect([], api_key="sk-secret\n")

    with pytest.raises(ConfigError, match="the environment variable that holds its key") as caught:
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("Hello?")])

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


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        pytest.param(
            HttpError(status=401, message="Received API Key = sk-secret, which is wrong."),
            ModelRefusedError,
            "Received API Key = ***, which is wrong.",
            id="a key that is repeated",
        ),
        pytest.param(
            HttpError(status=429, message="Slow down."),
            ModelUnavailableError,
            "The model's endpoint answered 429: Slow down. Try again later.",
            id="busy",
        ),
        pytest.param(
            HttpError(status=400, message="Too long.", code="context_length_exceeded"),
            ContextOverflowError,
            "The prompt does not fit the model: Too long.",
            id="too long",
        ),
        pytest.param(Drop(), ModelUnavailableError, "cannot be reached", id="a lost connection"),
        pytest.param(
            Held(Gate(), "late"), ModelUnavailableError, "did not answer in time", id="too late"
        ),
    ],
)
async def test_langchains_own_model_for_openai_fails_in_the_same_words(
    reply: Reply, kind: type, text: str
) -> None:
    with StrictEndpoint([reply], allow_unserved=True) as endpoint:
        chat = ChatOpenAI(
            model="m", base_url=endpoint.base_url, api_key="sk-secret", max_retries=0, timeout=0.5
        )

        with pytest.raises(GraphAgentError) as caught:
            await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("Hello?")])

        await chat.root_async_client.close()
        chat.root_client.close()

    assert type(caught.value) is kind
    assert text in str(caught.value)
    assert "sk-secret" not in str(caught.value)


async def test_langchains_own_model_for_openai_may_break_off_its_stream() -> None:
    broken = RawBytes(
        b'data: {"error": {"message": "Overloaded."}}\n\n', content_type="text/event-stream"
    )
    with StrictEndpoint([broken]) as endpoint:
        chat = ChatOpenAI(model="m", base_url=endpoint.base_url, api_key="k", max_retries=0)

        with pytest.raises(ModelUnavailableError, match=r"broke off: Overloaded\."):
            [_ async for _ in LanguageModel.of(chat, retry=ONCE).stream([HumanMessage("Hello?")])]

        await chat.root_async_client.close()
        chat.root_client.close()
