"""What each kind of server cannot do or insists on, as flags."""

from dataclasses import dataclass

from graph_agent.testing.refusal import ErrorShape, Refusal

TOOLS_NEED_A_FLAG = (
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
)
OPENAI_OVERFLOW = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in "
    "{tokens} tokens. Please reduce the length of the messages."
)
VLLM_OVERFLOW = (
    "This model's maximum context length is {limit} tokens. However, you requested {tokens} tokens "
    "in the messages, Please reduce the length of the messages."
)
LLAMACPP_OVERFLOW = (
    "the request exceeds the available context size. "
    "try increasing the context size or enable context shift"
)
MISTRAL_OVERFLOW = (
    "Prompt contains {tokens} tokens and 0 draft tokens, too large for model with {limit} maximum "
    "context length"
)
BEDROCK_OVERFLOW = "Input is too long for requested model."


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One kind of server. Every flag makes it stricter or less able than the bare protocol."""

    name: str
    error_shape: ErrorShape = "openai"
    """How its error bodies look."""
    overflow: str = OPENAI_OVERFLOW
    """Text of the error for a prompt beyond the window; `{tokens}` and `{limit}` are filled in."""
    overflow_code: str | None = None
    """`code` of that error."""
    checks: bool = True
    """False: everything is accepted, unread."""

    refuses_unknown_parameters: bool = False
    """Top-level parameters and message fields outside OpenAI's API are errors."""
    refuses_developer_role: bool = True
    """The role `developer` is unknown."""
    refuses_null_content: bool = False
    """`content: null` is an error even beside tool calls."""
    refuses_empty_content: bool = False
    """`content: ""` is an error in any message."""
    refuses_absent_content: bool = False
    """A message without the key `content` is an error, even beside tool calls."""
    refuses_empty_assistant: bool = False
    """An assistant message needs text or calls."""
    refuses_tools: Refusal | None = None
    """The answer to any request that offers tools."""
    refuses_auto_tool_choice: str | None = None
    """The answer to tools among which the model may choose; a forced one is accepted."""
    refuses_forced_tool_choice: str | None = None
    """The answer to a `tool_choice` other than `auto` and `none`."""
    refuses_json_schema: str | None = None
    """The answer to `response_format` of type `json_schema`."""
    refuses_json_with_tools: str | None = None
    """The answer to JSON mode beside tools."""

    needs_json_word: bool = False
    """`json_object` needs the word "json" somewhere in the messages."""
    needs_system_first: bool = False
    """The chat template raises on a system message anywhere but first."""
    needs_user_first: bool = False
    """The chat template raises unless a user speaks first after the system message."""
    needs_alternation: bool = False
    """The chat template raises when a role, other than tool, speaks twice in a row."""
    needs_reply_due: bool = False
    """The last message must be a user's or a tool's."""
    template_status: int = 400
    """HTTP status of what the chat template raises."""
    mistral_ids: bool = False
    """Tool call ids are exactly nine letters or digits. Off: switch it on by `replace`."""
    needs_reasoning_back: bool = False
    """A call message must carry the `reasoning_content` that it was produced with."""


_PROFILES = (
    Profile(name="lenient", checks=False, refuses_developer_role=False),
    Profile(
        name="openai",
        overflow_code="context_length_exceeded",
        refuses_unknown_parameters=True,
        refuses_developer_role=False,
        needs_json_word=True,
    ),
    Profile(
        name="qwen",
        error_shape="llamacpp",
        overflow=LLAMACPP_OVERFLOW,
        needs_system_first=True,
        needs_user_first=True,
        template_status=500,
    ),
    Profile(
        name="mistral",
        error_shape="mistral",
        overflow=MISTRAL_OVERFLOW,
        overflow_code="3051",
        refuses_unknown_parameters=True,
        refuses_empty_assistant=True,
        needs_system_first=True,
        needs_user_first=True,
        needs_alternation=True,
        needs_reply_due=True,
    ),
    Profile(name="ollama", refuses_null_content=True),
    Profile(
        name="bedrock",
        error_shape="bedrock",
        overflow=BEDROCK_OVERFLOW,
        refuses_empty_content=True,
        refuses_empty_assistant=True,
        needs_user_first=True,
    ),
    Profile(name="content_required", refuses_absent_content=True),
    Profile(
        name="deepseek_thinking",
        overflow_code="invalid_request_error",
        refuses_forced_tool_choice="Thinking mode does not support this tool_choice",
        refuses_json_schema="This response_format type is unavailable now",
        needs_json_word=True,
        needs_reasoning_back=True,
    ),
    Profile(
        name="groq",
        overflow_code="context_length_exceeded",
        refuses_unknown_parameters=True,
        refuses_json_schema="This model does not support response format `json_schema`.",
        refuses_json_with_tools="json mode cannot be combined with tool/function calling",
        needs_json_word=True,
    ),
    Profile(
        name="vllm",
        error_shape="vllm",
        overflow=VLLM_OVERFLOW,
        refuses_auto_tool_choice=TOOLS_NEED_A_FLAG,
    ),
    Profile(name="llamacpp", error_shape="llamacpp", overflow=LLAMACPP_OVERFLOW),
    Profile(
        name="no_tools",
        refuses_tools=Refusal(message="registry.ollama.ai/library/fake does not support tools"),
    ),
    Profile(
        name="no_tools_404",
        refuses_tools=Refusal(
            message="No endpoints found that support tool use.", status=404, code="404"
        ),
    ),
    Profile(
        name="no_tools_501",
        refuses_tools=Refusal(
            message="This server does not support tools.", status=501, kind="not_supported_error"
        ),
    ),
)

PROFILES = {profile.name: profile for profile in _PROFILES}
"""Every profile by its name."""


def profile_named(name: str) -> Profile:
    """Look a profile up; `ValueError` names the known ones."""
    if name not in PROFILES:
        raise ValueError(f"There is no profile {name!r}; known: {sorted(PROFILES)}.")
    return PROFILES[name]
