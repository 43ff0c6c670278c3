"""Rules about everything in a request but its messages; each returns a reason or None."""

from typing import Any

import orjson

from graph_agent.testing.message_rules import NAME, Rule
from graph_agent.testing.replies import Json
from graph_agent.testing.strict_schema import strict_schema_fault

PARAMETERS = frozenset(
    {
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "modalities",
        "model",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    }
)
"""Every top-level parameter of OpenAI's chat completions."""

_CHOICES = ("none", "auto", "required")
_FORMATS = ("text", "json_object", "json_schema")


def text_is_unicode(body: Json) -> str | None:
    """No string holds half a surrogate pair, which UTF-8 cannot carry."""
    try:
        orjson.dumps(body)
    except TypeError:
        return "The request holds a lone surrogate: its text is no valid Unicode."
    return None


def model_is_named(body: Json) -> str | None:
    """`model` is a name."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "you must provide a model parameter"
    return None


def parameters_are_known(body: Json) -> str | None:
    """No top-level parameter is outside OpenAI's API."""
    unknown = sorted(body.keys() - PARAMETERS)
    return f"Unknown parameter: '{unknown[0]}'." if unknown else None


def stream_options_need_stream(body: Json) -> str | None:
    """`stream_options` come with `stream: true` only."""
    if body.get("stream_options") is not None and not body.get("stream"):
        return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return None


def tools_are_not_empty(body: Json) -> str | None:
    """`tools` is left out, or is a list with something in it."""
    tools = body.get("tools")
    if tools is None or (isinstance(tools, list) and tools):
        return None
    return (
        "Invalid 'tools': empty array. Expected an array with minimum length 1, "
        "but got an empty array instead."
    )


def tools_are_functions(body: Json) -> str | None:
    """Every tool is a function with a legal name and an object schema, strict where it says so."""
    for index, tool in enumerate(body.get("tools") or []):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            return f"Invalid 'tools[{index}]': expected 'type': 'function' and a 'function'."
        if reason := _function_fault(function):
            return f"Invalid 'tools[{index}].function': {reason}."
    return None


def tool_names_are_unique(body: Json) -> str | None:
    """No two tools share a name."""
    names = _tool_names(body)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return f"Tool names must be unique; given twice: {twice}."
    return None


def tool_parameters_need_tools(body: Json) -> str | None:
    """`tool_choice` and `parallel_tool_calls` come with `tools` only."""
    for name in ("tool_choice", "parallel_tool_calls"):
        if body.get(name) is not None and not body.get("tools"):
            return (
                f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            )
    return None


def tool_choice_is_possible(body: Json) -> str | None:
    """`tool_choice` is none, auto, required, or names one of the tools."""
    choice = body.get("tool_choice")
    if choice is None or choice in _CHOICES:
        return None
    if not isinstance(choice, dict) or choice.get("type") != "function":
        return f"Invalid value for 'tool_choice': {choice!r}. Supported values are: {_CHOICES}."
    name = (choice.get("function") or {}).get("name")
    if name not in _tool_names(body):
        return (
            f"Invalid value for 'tool_choice': Tool choice '{name}' not found in 'tools' parameter."
        )
    return None


def response_format_is_legal(body: Json) -> str | None:
    """`response_format` is text, json_object, or a named json_schema, strict where it says so."""
    wanted = body.get("response_format")
    if wanted is None:
        return None
    if not isinstance(wanted, dict) or wanted.get("type") not in _FORMATS:
        return f"Invalid value for 'response_format': supported types are {_FORMATS}."
    return (
        _json_schema_fault(wanted.get("json_schema")) if wanted["type"] == "json_schema" else None
    )


def json_mode_is_announced(body: Json) -> str | None:
    """`json_object` comes with the word "json" in the messages."""
    wanted = body.get("response_format") or {}
    if wanted.get("type") != "json_object" or b"json" in orjson.dumps(body["messages"]).lower():
        return None
    return (
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type "
        "'json_object'."
    )


REQUEST_RULES: tuple[Rule, ...] = (
    model_is_named,
    stream_options_need_stream,
    tools_are_not_empty,
    tools_are_functions,
    tool_names_are_unique,
    tool_parameters_need_tools,
    tool_choice_is_possible,
    response_format_is_legal,
)
"""What every server rejects."""


def _function_fault(function: Json) -> str | None:
    name, parameters = function.get("name"), function.get("parameters")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return f"name {name!r} does not match '^[a-zA-Z0-9_-]{{1,64}}$'"
    if parameters is None:
        return None
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        return f"schema for function '{name}' must be a JSON Schema of 'type: \"object\"'"
    return strict_schema_fault(parameters) if function.get("strict") else None


def _tool_names(body: Json) -> list[Any]:
    return [tool["function"]["name"] for tool in body.get("tools") or []]


def _json_schema_fault(named: Any) -> str | None:
    if not isinstance(named, dict):
        return "Missing required parameter: 'response_format.json_schema'."
    name = named.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return f"Invalid 'response_format.json_schema.name': {name!r}."
    if not isinstance(named.get("schema"), dict):
        return "Missing required parameter: 'response_format.json_schema.schema'."
    fault = strict_schema_fault(named["schema"]) if named.get("strict") else None
    return f"Invalid schema for response_format '{name}': {fault}." if fault else None
