"""What an endpoint refuses is asked for in another way, at once, and never in the old way again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool

from graph_agent.bridge import run_sync
from graph_agent.errors import (
    ContextOverflowError,
    ModelRefusedError,
    ModelUnavailableError,
    ToolsRefusedError,
)
from graph_agent.models.adaptation import (
    adapted,
    is_about_the_schema,
    refuses_the_schema,
    refuses_tools,
)
from graph_agent.models.endpoint_error import EndpointError
from graph_agent.models.known_endpoint import endpoint_at
from graph_agent.models.language_model import LanguageModel
from graph_agent.models.openai_compatible import CompatibleChatModel
from graph_agent.models.retry import RetryPolicy
from graph_agent.models.spec import Abilities
from graph_agent.models.wire_rules import WireRules
from graph_agent.testing import HttpError, ScriptedChatModel, StrictEndpoint
from graph_agent.testing.profiles import PROFILES, Profile

Connect = Callable[..., Any]
pytestmark = pytest.mark.anyio
ONCE = RetryPolicy(max_retries=0)
RULES = WireRules()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


TOOLS: dict[str, Any] = {"tools": [{}]}
FORCED = TOOLS | {"tool_choice": {"type": "function"}}
SCHEMA = {"response_format": {"type": "json_schema"}}
OBJECT = {"response_format": {"type": "json_object"}}


@pytest.mark.parametrize(
    ("words", "asked", "change"),
    [
        # What a server cannot do.
        ("registry.ollama.ai/library/x does not support tools", TOOLS, {"tools": False}),
        ("No endpoints found that support tool use.", TOOLS, {"tools": False}),
        ("This server does not support tools.", TOOLS, {"tools": False}),
        ("tools param requires --jinja flag", TOOLS, {"tools": False}),
        ("Unsupported param: tools", TOOLS, {"tools": False}),
        ("Function calling is not enabled for models/gemma-3-27b-it", TOOLS, {"tools": False}),
        (
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser',
            TOOLS,
            {"tools": False},
        ),
        ("Invalid 'tools[0].function.name': not allowed: 'a b'.", TOOLS, None),
        ("Thinking mode does not support this tool_choice", FORCED, {"forced_tool_choice": "auto"}),
        (
            "Invalid tool_choice, must be one of none, auto, required",
            FORCED,
            {"forced_tool_choice": "required"},
        ),
        ("Unknown name parallel_tool_calls", {"parallel_tool_calls": True}, None),
        ("This response_format type is unavailable now", SCHEMA, {"json_schema": False}),
        (
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
            SCHEMA,
            {"json_schema": False},
        ),
        ("'response_format.type' must be 'json_schema' or 'text'", OBJECT, {"json_object": False}),
        ("'messages' must contain the word 'json' to use 'response_format'", OBJECT, None),
        (
            "json mode cannot be combined with tool/function calling",
            TOOLS | OBJECT,
            {"json_beside_tools": False},
        ),
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            {"max_tokens": 5},
            {"token_limit": "max_completion_tokens"},
        ),
        (
            "Unsupported value: 'temperature' does not support 0 with this model.",
            {"temperature": 0},
            {"temperature": False},
        ),
        ("Unrecognized argument: stream_options", {"stream_options": {}}, {"stream_usage": False}),
        (
            "This model only support stream mode, please enable the stream parameter",
            {},
            {"stream_only": True},
        ),
        ("This model does not support image inputs", {}, {"images": False}),
        # What its messages must look like.
        ("System role not supported", {}, {"system": "user"}),
        (
            "After the optional system message, expected a user message, got ['assistant'].",
            {},
            {"user_first": True},
        ),
        ("Expected last role User or Tool but got assistant", {}, {"assistant_last": False}),
        (
            "The text field in the ContentBlock object at messages.1.content.0 is blank.",
            {},
            {"blank_texts": False, "call_without_text": "null"},
        ),
        (
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            {},
            {"short_ids": True},
        ),
        (
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            {},
            {"reasoning_back": "calls"},
        ),
        (
            "invalid type: sequence, expected a string at line 1 column 9",
            {},
            {"content_lists": False},
        ),
        # What is no matter of form.
        ("Invalid schema for function 'f': 'x' is not valid", TOOLS, None),
        ("Invalid schema for response_format 'action': In context=().", SCHEMA, None),
        ("you must provide a model parameter", TOOLS, None),
        ("The model `gpt-9` does not exist", TOOLS, None),
        ("Unable to process input image: it is 1 byte", {}, {"images": False}),
    ],
)
def test_words_and_what_they_change(
    words: str, asked: dict[str, Any], change: dict[str, Any] | None
) -> None:
    if change is None and "parallel_tool_calls" in asked:
        change = {"parallel_tool_calls": False}

    changed = adapted(RULES, 400, words, asked)

    assert changed == (None if change is None else replace(RULES, **change))


@pytest.mark.parametrize(
    ("before", "words", "change"),
    [
        pytest.param(
            {"call_without_text": "null"},
            "invalid message content type: <nil>",
            {"call_without_text": "empty"},
            id="null",
        ),
        pytest.param(
            {"call_without_text": "null", "blank_texts": False},
            "content must not be null",
            {"call_without_text": "filler"},
            id="neither null nor empty",
        ),
        pytest.param(
            {"call_without_text": "absent"},
            "messages[2]: missing field `content`",
            {"call_without_text": "empty"},
            id="absent",
        ),
        pytest.param(
            {"system": "anywhere"},
            "System message must be at the beginning.",
            {"system": "first"},
            id="system",
        ),
        pytest.param(
            {"alternate_roles": False},
            "Conversation roles must alternate user/assistant/user/assistant/...",
            {"alternate_roles": True},
            id="alternation",
        ),
        pytest.param(
            {"reasoning_back": "calls"},
            "Missing reasoning_content in assistant message 2",
            {"reasoning_back": "every_call"},
            id="more reasoning",
        ),
        pytest.param(
            {"reasoning_back": "calls"},
            "Unknown parameter: 'messages[1].reasoning_content'",
            {"reasoning_back": "never"},
            id="no reasoning",
        ),
        pytest.param(
            {"token_limit": "max_completion_tokens"},
            "Unrecognized request argument supplied: max_completion_tokens",
            {"token_limit": "max_tokens"},
            id="the older name",
        ),
    ],
)
def test_what_is_not_usual_can_be_changed_back(
    before: dict[str, Any], words: str, change: dict[str, Any]
) -> None:
    rules = replace(RULES, **before)

    assert adapted(rules, 400, words, {"max_tokens": 1}) == replace(rules, **change)


@pytest.mark.parametrize(
    ("status", "words", "adapts"),
    [
        (500, "Jinja Exception: System role not supported", True),
        (500, "The server had an error with your image, which is unknown", False),
        (404, "No endpoints found that support tool use", True),
        (422, "System role not supported", True),
        (501, "This server does not support tools", True),
        (401, "System role not supported", False),
        (429, "System role not supported", False),
        (503, "System role not supported", False),
    ],
)
def test_only_some_statuses_are_about_the_form(status: int, words: str, *, adapts: bool) -> None:
    assert (adapted(RULES, status, words, TOOLS) is not None) is adapts


@pytest.mark.parametrize(
    "words",
    [
        "Invalid schema for response_format 'x': In context=('properties', 'a'), 'oneOf' is not"
        " permitted.",
        "The provided JSON schema contains features not supported by xgrammar.",
        'Grammar error: Unimplemented keys: ["propertyNames"]',
        "Failed to initialize samplers: failed to parse grammar",
        "JSON schema conversion failed: Unrecognized schema: {}",
        "The specified schema produces a constraint that has too many states for serving.",
        "A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth.",
        "The compiled grammar is too large, which would cause performance issues.",
        "Schema is too complex for compilation.",
        "Unsupported JSON schema fields: {'pattern'}",
    ],
)
def test_a_refusal_of_one_schema_is_no_refusal_of_all(words: str) -> None:
    statuses = [400, 422, 500, 429, 503]

    assert [refuses_the_schema(status, words, SCHEMA) for status in statuses] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert not refuses_the_schema(400, words, OBJECT)
    assert adapted(RULES, 400, words, SCHEMA) is None


@pytest.mark.parametrize(
    "words",
    [
        "This response_format type is unavailable now",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported",
        "create() got an unexpected keyword argument 'response_format'",
        'Either "json_schema" or "grammar" can be specified, but not both',
    ],
)
def test_a_refusal_of_all_schemas_is_none_of_one(words: str) -> None:
    assert not is_about_the_schema(words)
    assert adapted(RULES, 400, words, SCHEMA) == replace(RULES, json_schema=False)


THREAD = [
    SystemMessage("One."),
    HumanMessage("a"),
    HumanMessage("b"),
    AIMessage(
        "",
        tool_calls=[tool_call(name="add", args={"a": 1, "b": 2}, id="call_1")],
        additional_kwargs={"reasoning_content": "Hm."},
    ),
    ToolMessage("", tool_call_id="call_1"),
    SystemMessage("Two."),
    AIMessage(""),
    HumanMessage("c"),
    HumanMessage([{"type": "text", "text": "d"}]),
]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
@pytest.mark.parametrize("wire", [{}, {"system": "anywhere", "alternate_roles": False}])
async def test_every_server_ends_up_with_a_thread_that_it_takes(
    connect: Connect, profile: Profile, wire: dict[str, Any]
) -> None:
    chat, endpoint = connect(["x", "y"], {"profile": profile, "allow_malformed": True}, wire=wire)

    for _ in range(2):
        await chat.ainvoke(THREAD)

    assert endpoint.requests[-1].rejected is None
    assert endpoint.requests[-2].rejected is None, "a fault was paid for twice"


async def test_what_was_learned_holds_for_everybody_who_asks_that_endpoint(
    connect: Connect,
) -> None:
    """B51, the refusal: `json_schema` is tried once for all."""
    chat, endpoint = connect(["{}", "{}"], {"profile": "groq"})
    other = CompatibleChatModel(model="fake", base_url=endpoint.base_url, api_key="k")
    asked = [HumanMessage("As json.")]

    await chat.ainvoke(asked, **SCHEMA_CALL)
    await other.ainvoke(asked, **SCHEMA_CALL)
    await other.aclose()

    sent = [r.body["response_format"]["type"] for r in endpoint.requests]
    assert sent == ["json_schema", "json_object", "json_object"]
    assert LanguageModel.of(other, abilities=Abilities(json_schema=True)).abilities == Abilities()


TOOLS_CALL: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
}
SCHEMA_CALL: dict[str, Any] = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "x", "schema": {"type": "object"}},
    }
}


async def test_a_format_falls_until_none_is_left(connect: Connect) -> None:
    def refuse(body: dict[str, Any]) -> Any:
        formed = "response_format" in body
        return HttpError(status=400, message="response_format is unknown") if formed else "{}"

    chat, endpoint = connect(refuse)

    await chat.ainvoke([HumanMessage("As json.")], **SCHEMA_CALL)

    formats = [r.body.get("response_format", {}).get("type") for r in endpoint.requests]
    assert formats == ["json_schema", "json_object", None]


def odd(key: str) -> dict[str, Any]:
    """A request for an object with one property."""
    schema = {"type": "object", "properties": {key: {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    return {"response_format": form}


def refuse_odd(body: dict[str, Any]) -> Any:
    """Take every schema but those with the property `odd`."""
    is_odd = "odd" in str(body.get("response_format"))
    words = "Invalid schema for response_format 'x': 'odd' is not permitted."
    return HttpError(status=400, message=words) if is_odd else "{}"


async def test_a_refused_schema_leaves_the_others_alone(connect: Connect) -> None:
    chat, endpoint = connect(refuse_odd)

    for key in ("even", "odd", "odd", "even"):
        await chat.ainvoke([HumanMessage("As json.")], **odd(key))

    sent = [r.body["response_format"]["type"] for r in endpoint.requests]
    assert sent == ["json_schema", "json_schema", "json_object", "json_object", "json_schema"]
    assert chat.endpoint.rules == WireRules()


async def test_what_is_learned_beside_a_refused_schema_is_not_about_all_schemas(
    connect: Connect,
) -> None:
    def refuse(body: dict[str, Any]) -> Any:
        form = body.get("response_format", {}).get("type")
        if form == "json_object":
            return HttpError(status=400, message="response_format json_object is unavailable")
        return refuse_odd(body)

    chat, endpoint = connect(refuse)

    for key in ("odd", "even"):
        await chat.ainvoke([HumanMessage("As json.")], **odd(key))

    sent = [r.body.get("response_format", {}).get("type") for r in endpoint.requests]
    assert sent == ["json_schema", "json_object", None, "json_schema"]
    assert chat.endpoint.rules == replace(WireRules(), json_object=False)


async def test_a_schema_that_was_not_at_fault_is_not_held_against_it(connect: Connect) -> None:
    """The tool's schema is refused, and both are in one request."""
    words = "Invalid schema for function 'add': 'x' is not valid."
    chat, endpoint = connect([HttpError(status=400, message=words)] * 2)
    request = TOOLS_CALL | odd("even")

    with pytest.raises(EndpointError):
        await chat.ainvoke([HumanMessage("As json.")], **request)

    assert endpoint.asked == 2
    assert chat.endpoint.rules == WireRules()
    assert not chat.endpoint.has_refused(request["response_format"])


async def test_a_prompt_too_long_is_not_held_against_the_schema(connect: Connect) -> None:
    words = "maximum context length is 9 tokens; the grammar is part of the prompt"
    chat, endpoint = connect([HttpError(status=400, message=words)])

    with pytest.raises(EndpointError):
        await chat.ainvoke([HumanMessage("As json.")], **odd("even"))

    assert (endpoint.asked, chat.endpoint.refused_schemas) == (1, frozenset())


@pytest.mark.parametrize("profile", ["no_tools", "no_tools_404", "no_tools_501", "vllm"])
async def test_refused_tools_are_told_apart_and_not_offered_again(
    connect: Connect, profile: str
) -> None:
    chat, endpoint = connect(["hi"], {"profile": profile})
    model = LanguageModel.of(chat, retry=ONCE)
    before = model.abilities

    for _ in range(2):
        with pytest.raises(ToolsRefusedError):
            await model.ask([HumanMessage("2 + 3?")], tools=[add])

    assert (before.tool_call, model.abilities.tool_call) == (True, False)
    assert endpoint.asked == 1
    assert (await model.ask([HumanMessage("2 + 3?")])).text == "hi"


async def test_a_forced_choice_becomes_a_free_one(connect: Connect) -> None:
    """B52, the refusal."""
    chat, endpoint = connect(["a", "b"], {"profile": "deepseek_thinking"})
    model = LanguageModel.of(chat, retry=ONCE)

    for _ in range(2):
        await model.ask([HumanMessage("2 + 3?")], tools=[add], tool_choice="add")

    choices = [request.body.get("tool_choice") for request in endpoint.requests]
    assert [type(choice) for choice in choices] == [dict, type(None), type(None)]
    assert model.abilities.tool_call is True


async def test_a_refusal_is_passed_on_once_nothing_helps_and_leaves_no_trace(
    connect: Connect,
) -> None:
    reply = HttpError(status=400, message="System role not supported")
    chat, endpoint = connect([reply] * 9)

    with pytest.raises(ModelRefusedError, match="System role not supported"):
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("Hello?")])

    assert endpoint.asked == 2
    assert chat.endpoint.rules == WireRules()


async def test_no_server_is_asked_for_ever(connect: Connect) -> None:
    """Whatever it complains about, each set of rules is tried once."""
    complaints = ["response_format", "alternat", "System role not supported", "content is blank"]
    complaints += ["content is null", "last role", "max_completion_tokens", "expected a user"]
    reply = HttpError(status=400, message="; ".join(complaints))
    chat, endpoint = connect(lambda _: reply)

    with pytest.raises(ModelRefusedError):
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("As json?")], **SCHEMA_CALL)

    assert endpoint.asked < 12


async def test_a_prompt_that_is_too_long_is_no_matter_of_form(connect: Connect) -> None:
    words = "maximum context length is 9 tokens; tools are unsupported"
    chat, endpoint = connect([HttpError(status=400, message=words)])

    with pytest.raises(ContextOverflowError):
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("?")], tools=[add])

    assert endpoint.asked == 1
    assert chat.endpoint.rules == WireRules()


async def test_a_passing_fault_changes_no_rules(connect: Connect) -> None:
    chat, _ = connect([HttpError(status=503, message="tools are unavailable")])

    with pytest.raises(ModelUnavailableError):
        await LanguageModel.of(chat, retry=ONCE).ask([HumanMessage("?")], tools=[add])

    assert chat.endpoint.rules == WireRules()


async def test_images_are_refused_in_plain_words(connect: Connect) -> None:
    words = "unknown variant `image_url`, expected `text`"
    chat, _ = connect([HttpError(status=400, message=words)])
    model = LanguageModel.of(chat, retry=ONCE, abilities=Abilities(vision=True))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}

    with pytest.raises(ModelRefusedError, match="image_url"):
        await model.ask([HumanMessage([image])])

    assert model.abilities.vision is False


async def test_a_stream_adapts_as_well(connect: Connect) -> None:
    chat, endpoint = connect(
        [HttpError(status=400, message="Unknown parameter: 'stream_options'."), "hi", "ho"]
    )

    texts = ["".join([chunk.text async for chunk in chat.astream("?")]) for _ in range(2)]

    assert texts == ["hi", "ho"]
    assert ["stream_options" in r.body for r in endpoint.requests] == [True, False, False]


def test_sync_calls_adapt_as_well() -> None:
    words = "Jinja Exception: System role not supported"
    from_template = HttpError(status=500, message=words)
    with StrictEndpoint([from_template, "hi"]) as endpoint:
        chat = CompatibleChatModel(model="fake", base_url=endpoint.base_url, api_key="k")

        reply = chat.invoke([SystemMessage("Be."), HumanMessage("?")])
        run_sync(chat.aclose())

    assert reply.text == "hi"
    assert endpoint.requests[1].body["messages"] == [{"role": "user", "content": "Be.\n\n?"}]


async def test_any_providers_refusal_of_tools_is_known() -> None:
    refusal = ModelRefusedError("Tool use is not supported by this model.", status=400)
    model = LanguageModel.of(ScriptedChatModel(replies=[refusal]), retry=ONCE)

    for _ in range(2):
        with pytest.raises(ToolsRefusedError):
            await model.ask([HumanMessage("?")], tools=[add])

    assert model.abilities.tool_call is False


def test_other_refusals_are_not_about_tools() -> None:
    assert refuses_tools(400, "Invalid schema for function 'f'") is False
    assert refuses_tools(None, "This model does not support tools") is False


def test_each_address_and_model_and_setting_has_its_own_memory() -> None:
    one = endpoint_at("http://127.0.0.1/v1", "m")

    assert endpoint_at("http://127.0.0.1/v1", "m") is one
    assert endpoint_at("http://127.0.0.1/v1", "n") is not one
    assert endpoint_at("http://127.0.0.1:8/v1", "m") is not one
    assert endpoint_at("http://127.0.0.1/v1", "m", {"short_ids": True}) is not one
