import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

from graph_agent.state import RunUsage, Usage
from graph_agent.usage import add_usage, no_usage, usage_of


def reply(tokens_in: int, tokens_out: int, cached: int | None = None) -> AIMessage:
    reported = UsageMetadata(
        input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out
    )
    if cached is not None:
        reported["input_token_details"] = {"cache_read": cached}
    return AIMessage("", usage_metadata=reported)


def usage(tokens_in: int, tokens_out: int, cached: int, calls: int) -> Usage:
    return Usage(
        input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=cached, calls=calls
    )


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        pytest.param([], usage(0, 0, 0, 0), id="none"),
        pytest.param([AIMessage("")], usage(0, 0, 0, 1), id="a reply without a report is a call"),
        pytest.param([reply(3, 2)], usage(3, 2, 0, 1), id="no word about the cache"),
        pytest.param([reply(3, 2, 1), reply(5, 4, 2)], usage(8, 6, 3, 2), id="several"),
    ],
)
def test_the_usage_of_replies(replies: list[AIMessage], expected: Usage) -> None:
    assert usage_of(*replies) == expected


def test_a_run_adds_up_by_purpose_and_leaves_the_old_count_alone() -> None:
    first = add_usage(None, "loop", usage(3, 2, 1, 1))
    second = add_usage(first, "loop", usage(5, 4, 2, 1))
    third = add_usage(second, "synthesize", usage(1, 1, 0, 1))

    assert first == RunUsage(**usage(3, 2, 1, 1), by_purpose={"loop": usage(3, 2, 1, 1)})
    assert second == RunUsage(**usage(8, 6, 3, 2), by_purpose={"loop": usage(8, 6, 3, 2)})
    assert third == RunUsage(
        **usage(9, 7, 3, 3),
        by_purpose={"loop": usage(8, 6, 3, 2), "synthesize": usage(1, 1, 0, 1)},
    )
    assert no_usage() == RunUsage(**usage(0, 0, 0, 0), by_purpose={})
