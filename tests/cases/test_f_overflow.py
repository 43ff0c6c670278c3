"""Group F: the endpoint's window is smaller than the config says."""

from collections.abc import Callable
from typing import Any

import pytest

from graph_agent.prompts import LIMIT_NOTE
from graph_agent.testing import HttpError

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
WIDE = {"context_size": 33_000, "max_output_tokens": 1_000}
"""What the config says where the server's window is a quarter of it."""
OVERFLOWS = {
    "OpenAI": HttpError(
        status=400,
        code="context_length_exceeded",
        message="This model's maximum context length is 8192 tokens. However, your messages "
        "resulted in 9000 tokens. Please reduce the length of the messages.",
    ),
    "Azure": HttpError(
        status=400,
        message="This model's maximum context length is 8192 tokens, however you requested 9000 "
        "tokens (8000 in your prompt; 1000 for the completion). Please reduce your prompt; or "
        "completion length.",
    ),
    "vLLM": HttpError(
        status=400,
        message="This model's maximum context length is 8192 tokens. However, you requested 9000 "
        "tokens (8000 in the messages, 1000 in the completion).",
    ),
    "llama.cpp": HttpError(
        status=400,
        message="request (9000 tokens) exceeds the available context size (8192 tokens), try "
        "increasing it",
    ),
    "llama.cpp, amid": HttpError(status=500, message="Context size has been exceeded."),
    "Ollama": HttpError(status=400, message="the input length exceeds the context length"),
    "Anthropic": HttpError(status=400, message="prompt is too long: 9000 tokens > 8192 maximum"),
    "Groq": HttpError(
        status=413,
        message="Request too large for model `x` on tokens per minute (TPM): Limit 8192, "
        "Requested 9000, please reduce your message size and try again.",
    ),
    "DeepSeek": HttpError(
        status=400,
        code="invalid_request_error",
        message="This model's maximum context length is 8192 tokens. However, you requested 9000 "
        "tokens (8000 in the messages, 1000 in the completion).",
    ),
    "no words": HttpError(status=413, body=b"<html>Request Entity Too Large</html>"),
}


@pytest.mark.parametrize("words", OVERFLOWS.values(), ids=[f"B65-{name}" for name in OVERFLOWS])
async def test_a_window_smaller_than_the_config_says_is_learned_once(
    set_stage: SetStage, windowed: Any, speech: Any, words: HttpError, reader: Any, read_calls: Any
) -> None:
    model = windowed([*read_calls(40), speech.final("done")], 7_192, overflow=words)
    stage = set_stage(model, [reader(33)], **WIDE)

    events = await stage.ask("What do the pages say?")

    done = events[-2]["data"]
    assert (done["answer"], done["stop_reason"], done["iterations"]) == ("The answer.", "final", 41)
    at = {replies for _, replies in model.refused}
    assert len(at) == 1, model.refused
    assert 1 <= len(model.refused) <= 3
    assert [a.purpose for a in model.of("loop") if "What do the pages say?" not in a.text] == []
    # Less would do, but not so little that the model forgets what it does.
    assert min(asked.tokens for asked in model.of("loop")[20:]) > 7_192 / 4
    assert [event["event"] for event in events].count("compact") < 20


async def test_the_next_run_does_not_learn_it_again(
    set_stage: SetStage, windowed: Any, speech: Any, reader: Any, read_calls: Any
) -> None:
    """B65."""
    replies = [*read_calls(20), speech.final("done")]
    model = windowed(replies * 2, 7_192)
    stage = set_stage(model, [reader(33)], **WIDE)
    await stage.answer("What do the pages say?")
    refused = len(model.refused)

    await stage.answer("And now?", thread_id="another")

    assert len(model.refused) == refused


@pytest.mark.parametrize(
    "lines", [pytest.param(190, id="B65-3000 tokens"), pytest.param(700, id="B65-11000 tokens")]
)
async def test_one_overflow_shrinks_the_prompt_and_asks_again(
    set_stage: SetStage, speech: Any, lines: int, reader: Any, read_calls: Any
) -> None:
    overflow = HttpError(status=400, message="No.", code="context_length_exceeded")
    replies = [*read_calls(1), overflow, speech.final("ok")]
    stage = set_stage(replies, [reader(lines)], synthesis="never")

    events = await stage.ask("q")

    done = events[-2]["data"]
    assert (done.get("answer"), done.get("message")) == ("ok", None)
    assert [event["event"] for event in events].count("compact") == 1
    _, refused, accepted = (len(request.raw) for request in stage.endpoint.requests)
    assert accepted < refused * 0.9
    assert stage.sent(2)[1][1].startswith("q")
    assert "1 Whoever misses" in stage.sent(2)[-1][1]


NOTE = LIMIT_NOTE.format(limit="what fits the model's window")


@pytest.mark.parametrize("before", [0, 1, 12], ids=lambda pages: f"B65-after {pages} results")
async def test_a_server_that_always_says_overflow_is_asked_four_times_at_most(
    set_stage: SetStage, windowed: Any, before: int, reader: Any, read_calls: Any
) -> None:
    model = windowed([*read_calls(before), OVERFLOWS["OpenAI"]], float("inf"))
    model.replies += [OVERFLOWS["OpenAI"]] * 9
    stage = set_stage(model, [reader(33)], **WIDE)

    events = await stage.ask("What do the pages say?")

    assert 1 <= len(model.of("loop")) - before <= 4
    last = events[-2]["data"]
    if before == 0:
        assert last["code"] == "context_overflow"
    else:
        assert (last["stop_reason"], last["answer"]) == ("error", f"The answer.{NOTE}")
    sizes = [asked.tokens for asked in model.of("loop")[before:]]
    assert sizes == sorted(set(sizes), reverse=True)
