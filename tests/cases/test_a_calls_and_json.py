"""Group A: calls and JSON, as models really write them."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from graph_agent.prompts import NOTHING_FOUND
from graph_agent.protocols.native import CUT_OFF

pytestmark = pytest.mark.anyio

SetStage = Callable[..., Any]
NATIVE = pytest.mark.parametrize("speech", ["native"], indirect=True)
JSON = pytest.mark.parametrize("speech", ["json"], indirect=True)


def search(q: str, deep: bool = False, lim: int | None = None) -> dict[str, Any]:
    """Search.

    Args:
        q: What for.
        deep: Whether to look everywhere.
        lim: How many.
    """
    return {"q": q, "deep": deep, "lim": lim}


def save(note: str, n: list[int]) -> dict[str, Any]:
    """Save.

    Args:
        note: A text.
        n: Numbers.
    """
    return {"note": note, "n": n}


def ping() -> str:
    """Answer."""
    return "pong"


def wire(name: str, arguments: str, call_id: str = "1") -> dict[str, str]:
    return {"id": call_id, "name": name, "arguments": arguments}


def calling(*calls: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"content": "", "tool_calls": list(calls), **more}


def act(tool: str, args: dict[str, Any]) -> str:
    return orjson.dumps({"type": "tool_call", "tool": tool, "args": args}).decode()


async def steps_of(
    set_stage: SetStage, reply: Any, final: Any, tools: list[Any]
) -> list[tuple[str, Any, bool]]:
    """Run one reply and an answer; return name, result and failure of each call."""
    stage = set_stage([reply, final], tools, synthesis="never")

    result = await stage.agent.run("q", thread_id="t")

    assert (result.answer, result.stop_reason) == ("done", "final")
    assert stage.endpoint.rejected == []
    return [(s.tool_name, s.observation, s.error) for s in result.steps]


def found(**result: Any) -> str:
    return orjson.dumps({"q": "", "deep": False, "lim": None} | result).decode()


RAIN = act("search", {"q": "rain"})
BRACE = act("search", {"q": "a}b"})


@JSON
@pytest.mark.parametrize(
    ("text", "query"),
    [
        pytest.param(f"Here is my step:```json{RAIN}``` ok?", "rain", id="B01 one line"),
        pytest.param(f"```{RAIN}```", "rain", id="B01 no language"),
        pytest.param(f"So:\n```json\n{RAIN}\n```\nOk?", "rain", id="B01 lines"),
        pytest.param(
            '{\n "action": "search", // fetch it\n "args": {"q": "https://x.test/a#b"}  # main\n}',
            "https://x.test/a#b",
            id="B05",
        ),
        pytest.param(f"<think>I need facts.\n{RAIN}", "rain", id="B10"),
        pytest.param(
            f"For {{project}} I will run: {BRACE} as {{planned}}.",
            "a}b",
            id="B11",
        ),
    ],
)
async def test_an_action_is_found_in_whatever_stands_around_it(
    set_stage: SetStage, speech: Any, text: str, query: str
) -> None:
    steps = await steps_of(set_stage, text, speech.final("done"), [search])

    assert steps == [("search", found(q=query), False)]


@NATIVE
@pytest.mark.parametrize(
    ("calls", "results"),
    [
        pytest.param(
            [wire("save", '{"note":"list: [a,] and {b,}","n":[1,2,],}')],
            ['{"note":"list: [a,] and {b,}","n":[1,2]}'],
            id="B03",
        ),
        pytest.param(
            [
                wire("search", "{'q': \"what's new\", 'deep': True, 'lim': None}", "1"),
                wire("search", '{"q": "what\'s new: True or None?"}', "2"),
            ],
            [found(q="what's new: True or None?"), found(q="what's new", deep=True)],
            id="B04",
        ),
        pytest.param(
            [wire("search", '{"q":"line 1\nline 2\tend"}')],
            [found(q="line 1\nline 2\tend")],
            id="B06",
        ),
        pytest.param(
            [wire("ping", "", "1"), wire("ping", " \n", "2"), wire("ping", "null", "3")],
            ["pong", "pong", "pong"],
            id="B13",
        ),
        pytest.param(
            [wire("save", r'"{\"note\":\"7\",\"n\":\"[\\\"7\\\", 8]\"}"')],
            ['{"note":"7","n":[7,8]}'],
            id="B14",
        ),
        pytest.param(
            [
                wire("functions.search", '{"q":"1"}', "1"),
                wire("search<|channel|>commentary", '{"q":"2"}', "2"),
                wire("Search", '{"q":"3"}', "3"),
            ],
            [found(q="1"), found(q="2"), found(q="3")],
            id="B18",
        ),
        pytest.param(
            [wire("search", '```json\n{"q":"fenced"}\n```')], [found(q="fenced")], id="fence"
        ),
    ],
)
async def test_arguments_are_read_without_a_guess(
    set_stage: SetStage, speech: Any, calls: list[dict[str, str]], results: list[str]
) -> None:
    steps = await steps_of(set_stage, calling(*calls), "done", [search, save, ping])

    assert sorted(steps) == sorted(
        (name, result, False)
        for name, result in zip(
            ["save" if "note" in r else "ping" if r == "pong" else "search" for r in results],
            results,
            strict=True,
        )
    )


@NATIVE
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        pytest.param('{"{"tagIds":[1]', '{"{"tagIds":[1]', id="B21"),
        pytest.param("{'q': {1, 2}}", "{'q': {1, 2}}", id="B04 set"),
        pytest.param("{'q': b'x'}", "{'q': b'x'}", id="B04 bytes"),
        pytest.param('{"q": }', '{"q": }', id="no value"),
        pytest.param('{"q": "rain', '{"q": "rain', id="B16 ends inside a string"),
        pytest.param('{"q": "rain"', '{"q": "rain"', id="B16 ends without its brace"),
        pytest.param("[1]", "not list", id="list"),
        pytest.param('"rain"', "not str", id="text"),
    ],
)
async def test_arguments_that_cannot_be_read_are_told_and_never_replayed(
    set_stage: SetStage, speech: Any, arguments: str, fault: str
) -> None:
    stage = set_stage(
        [calling(wire("search", arguments)), "sorry", "answer 2"], [search], synthesis="never"
    )

    first = await stage.agent.run("q", thread_id="t")
    second = await stage.agent.run("second question", thread_id="t")

    [step] = first.steps
    assert (step.tool_args, step.error) == ({}, True)
    assert fault in step.observation
    assert (first.answer, second.answer) == ("sorry", "answer 2")
    sent = stage.endpoint.requests[-1].body["messages"]
    [call] = [call for message in sent for call in message.get("tool_calls", [])]
    assert call["function"] == {"name": "search", "arguments": "{}"}
    assert stage.endpoint.rejected == []


async def test_two_actions_in_one_reply_run_in_order(set_stage: SetStage, speech: Any) -> None:
    """B07."""
    reply = speech.calls(("ping", {}), ("search", {"q": "x"}))

    steps = await steps_of(set_stage, reply, speech.final("done"), [search, ping])

    assert steps == [("ping", "pong", False), ("search", found(q="x"), False)]


@JSON
async def test_an_action_wins_over_an_answer_beside_it(set_stage: SetStage, speech: Any) -> None:
    """B07."""
    reply = f"{speech.final('early')}\n{RAIN}"

    steps = await steps_of(set_stage, reply, speech.final("done"), [search])

    assert steps == [("search", found(q="rain"), False)]


async def test_numbers_and_lists_written_as_text_are_converted_where_the_schema_asks(
    set_stage: SetStage, speech: Any
) -> None:
    """B14."""
    reply = speech.calls(
        ("save", {"note": "[1]", "n": '["1", 2]'}), ("search", {"q": "3", "deep": "true"})
    )

    steps = await steps_of(set_stage, reply, speech.final("done"), [search, save])

    assert steps == [
        ("save", '{"note":"[1]","n":[1,2]}', False),
        ("search", found(q="3", deep=True), False),
    ]


async def test_missing_arguments_are_named(set_stage: SetStage, speech: Any) -> None:
    """B13, B20."""
    reply = speech.calls(("save", {"note": "a"}), ("search", {}))

    steps = await steps_of(set_stage, reply, speech.final("done"), [search, save])

    fault = "Error: the arguments of `{}` do not fit: {}: Field required. Correct them."
    assert steps == [
        ("save", fault.format("save", "n"), True),
        ("search", fault.format("search", "q"), True),
    ]


async def test_unknown_arguments_are_left_out_with_a_note(set_stage: SetStage, speech: Any) -> None:
    """B20."""
    reply = speech.calls(("search", {"q": "a", "old_prefix": "z"}))

    steps = await steps_of(set_stage, reply, speech.final("done"), [search])

    note = "(`search` takes no `old_prefix`: left out.)"
    assert steps == [("search", f"{found(q='a')}\n\n{note}", False)]


@NATIVE
async def test_a_call_that_was_cut_off_does_not_run(set_stage: SetStage, speech: Any) -> None:
    """B16."""
    cut = calling(wire("search", '{"q":"hel'), finish_reason="length")
    whole = calling(wire("search", '{"q":"hello"}'), finish_reason="length")

    for reply in (cut, whole):
        steps = await steps_of(set_stage, reply, "done", [search])
        told = f"The call was not run: {CUT_OFF}. Send it again, corrected."
        assert steps == [("search", told, True)]


@JSON
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param({"content": RAIN, "finish_reason": "length"}, id="by its reason"),
        pytest.param(RAIN[:-4], id="inside a text"),
        pytest.param(RAIN[:-1], id="before its brace"),
    ],
)
async def test_an_action_that_was_cut_off_does_not_run(
    set_stage: SetStage, speech: Any, reply: Any
) -> None:
    """B16."""
    assert await steps_of(set_stage, reply, speech.final("done"), [search]) == []


async def test_half_characters_are_replaced_once(set_stage: SetStage, speech: Any) -> None:
    """B23."""

    def halve(s: str) -> str:
        """Halve.

        Args:
            s: A text.
        """
        return f"{s} x\ud83dy"

    raw = r'{"s":"\ud83d"}'
    text = f'{{"type": "tool_call", "tool": "halve", "args": {raw}}}'
    reply = calling(wire("halve", raw)) if speech.mode == "native" else text
    stage = set_stage([reply, speech.final("fine")], [halve], synthesis="never")

    result = await stage.agent.run("q \udc9d")

    assert result.answer == "fine"
    assert [(step.tool_args, step.observation) for step in result.steps] == [({"s": "?"}, "? x?y")]
    assert stage.endpoint.rejected == []


async def test_content_may_be_a_list_of_blocks(set_stage: SetStage, speech: Any) -> None:
    """B24."""
    head, tail = speech.final("Paris")[:-9], speech.final("Paris")[-9:]
    blocks = [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": head},
        {"type": "text", "text": tail},
    ]
    stage = set_stage([{"content": blocks}])

    events = await stage.ask("q")

    assert events[-2]["data"]["answer"] == "Paris"
    assert events[1]["data"]["reasoning"] == "hm"


@JSON
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(RAIN[:-4], id="cut call"),
        pytest.param('{"name": "search", "arguments": [1]}', id="unfit arguments"),
    ],
)
async def test_the_json_of_a_call_is_never_the_answer(
    set_stage: SetStage, speech: Any, text: str
) -> None:
    """The reply is asked for anew, the emptied one once more, and then the run ends."""
    stage = set_stage([text, text, text], [search])

    assert await stage.answer("q") == NOTHING_FOUND


@JSON
async def test_an_answer_cut_off_twice_is_shown_without_its_json(
    set_stage: SetStage, speech: Any
) -> None:
    cut = {"content": '{"type": "final_answer", "answer": "Paris is', "finish_reason": "length"}
    stage = set_stage([cut, cut])

    assert await stage.answer("q") == "Paris is"


AS_TEXT = [
    pytest.param(RAIN, id="bare, our spelling"),
    pytest.param('{"name": "search", "arguments": {"q": "rain"}}', id="bare"),
    pytest.param('{"name": "search", "parameters": {"q": "rain"}}', id="Llama"),
    pytest.param(f"I look it up.\n```json\n{RAIN}\n```", id="fence behind prose"),
    pytest.param(f"First:\n```json\n{RAIN}\n```\nThen I answer.", id="fence amid prose"),
    pytest.param(f"<tool_call>\n{RAIN}\n</tool_call>", id="tags"),
    pytest.param(f"<think>Rain?</think>\n<tool_call>{RAIN}</tool_call>", id="tags after thinking"),
    pytest.param(
        '[TOOL_CALLS] [{"name": "search", "arguments": {"q": "rain"}}]', id="Mistral, a list"
    ),
    pytest.param('[TOOL_CALLS]search[ARGS]{"q": "rain"}', id="Mistral, a name"),
    pytest.param('<function=search>{"q": "rain"}</function>', id="function tag"),
    pytest.param(
        "<tool_call>\n<function=search>\n<parameter=q>\nrain\n</parameter>\n</function>\n"
        "</tool_call>",
        id="Qwen Coder",
    ),
    pytest.param(
        '<invoke name="search"><parameter name="q">rain</parameter></invoke>', id="invoke"
    ),
    pytest.param(
        "<tool_call>search\n<arg_key>q</arg_key>\n<arg_value>rain</arg_value>\n</tool_call>",
        id="GLM",
    ),
    pytest.param(
        '<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"q": "rain"}',
        id="gpt-oss",
    ),
    pytest.param(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0"
        '<|tool_call_argument_begin|>{"q": "rain"}<|tool_call_end|>',
        id="Kimi",
    ),
    pytest.param(
        "<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>search\n"
        '```json\n{"q": "rain"}\n```<\uff5ctool\u2581call\u2581end\uff5c>',
        id="DeepSeek",
    ),
    pytest.param('Action: search\nAction Input: {"q": "rain"}', id="ReAct"),
    pytest.param(
        r'{"tool_calls": [{"function": {"name": "search", "arguments": "{\"q\": \"rain\"}"}}]}',
        id="the API's own form",
    ),
    pytest.param(f"{RAIN}\n\nThe result is: it rains.", id="with a made-up result"),
]


@NATIVE
@pytest.mark.parametrize("text", AS_TEXT)
async def test_a_call_written_as_text_is_taken_and_the_mode_changes(
    set_stage: SetStage, speech: Any, text: str
) -> None:
    """R2.4."""
    stage = set_stage([text, '{"type": "final_answer", "answer": "done"}'], [search])
    stage.endpoint.reply("It rains.")

    result = await stage.agent.run("q", thread_id="t")

    assert [(s.tool_name, s.tool_args, s.error) for s in result.steps] == [
        ("search", {"q": "rain"}, False)
    ]
    assert (result.answer, result.iterations) == ("It rains.", 2)
    offered = ["tools" in request.body for request in stage.endpoint.requests]
    assert offered == [True, False, False]
    assert [role for role, _ in stage.sent(1)] == ["system", "user", "assistant", "user"]
    assert stage.endpoint.rejected == []


@JSON
@pytest.mark.parametrize("text", AS_TEXT)
async def test_json_mode_reads_the_same_spellings(
    set_stage: SetStage, speech: Any, text: str
) -> None:
    steps = await steps_of(set_stage, text, speech.final("done"), [search])

    assert steps == [("search", found(q="rain"), False)]


@NATIVE
async def test_the_change_of_mode_is_remembered(set_stage: SetStage, speech: Any) -> None:
    """R2.4."""
    done = '{"type": "final_answer", "answer": "done"}'
    stage = set_stage([RAIN, done, done], [search], synthesis="never")

    answers = [await stage.answer("q", thread) for thread in ("t", "other")]

    assert answers == ["done", "done"]
    assert ["tools" in r.body for r in stage.endpoint.requests] == [True, False, False]


@NATIVE
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("It is 3.", id="prose"),
        pytest.param('{"name": "Bob", "age": 3}', id="data"),
        pytest.param('```json\n{"rows": [{"name": "search"}]}\n```', id="data in a fence"),
        pytest.param(
            'A call looks like this:\n```json\n{"name": "weather", "arguments": {}}\n```\nThe API '
            "reads it.",
            id="an example that names no tool",
        ),
        pytest.param(
            'I would write {"name": "search", "arguments": {"q": "x"}} and wait.',
            id="a mention amid a sentence",
        ),
        pytest.param("Put it into `<tool_call>` tags.", id="a tag"),
        pytest.param("Use \\frac{1}{2} and {x}.", id="braces"),
    ],
)
async def test_an_answer_that_mentions_json_stays_an_answer(
    set_stage: SetStage, speech: Any, text: str
) -> None:
    """R2.4."""
    stage = set_stage([text], [search])

    assert await stage.answer("q") == text


@NATIVE
async def test_our_final_answer_is_unwrapped_wherever_it_is_written(
    set_stage: SetStage, speech: Any
) -> None:
    stage = set_stage(['{"type": "final_answer", "answer": "Paris"}', "Rome"], [search])

    assert [await stage.answer("q"), await stage.answer("q")] == ["Paris", "Rome"]
    assert ["tools" in r.body for r in stage.endpoint.requests] == [True, True]


@NATIVE
@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            '{"name": "weather", "arguments": {"city": "Paris"}}',
            "There is no tool `weather`. The tools are: search.",
            id="unknown tool",
        ),
        pytest.param(
            '<tool_call>{"name": "search", "arguments": {}}</tool_call>',
            "Error: the arguments of `search` do not fit: q: Field required. Correct them.",
            id="unfit arguments",
        ),
        pytest.param(
            RAIN[:-4],
            "The call was not run: its JSON is broken or ends too early. Send it again, corrected.",
            id="cut off",
        ),
    ],
)
async def test_a_call_as_text_that_cannot_run_is_told_to_the_model(
    set_stage: SetStage, speech: Any, text: str, told: str
) -> None:
    """R2.4: it is no answer, and no sign that tools are not called by the API."""
    stage = set_stage([text, "done"], [search], synthesis="never")

    result = await stage.agent.run("q")

    assert [(step.observation, step.error) for step in result.steps] == [(told, True)]
    assert result.answer == "done"
    assert ["tools" in r.body for r in stage.endpoint.requests] == [True, True]


@NATIVE
@pytest.mark.parametrize("profile", ["no_tools", "no_tools_404", "no_tools_501"])
async def test_an_endpoint_that_refuses_tools_is_asked_in_json_mode_at_once(
    set_stage: SetStage, speech: Any, profile: str
) -> None:
    """R2.4: paid once, within the same iteration."""
    done = '{"type": "final_answer", "answer": "done"}'
    stage = set_stage([RAIN, done, done], [search], profile=profile, synthesis="never")

    first = await stage.agent.run("q", thread_id="t")
    second = await stage.answer("q", "other")

    assert (first.answer, first.iterations, second) == ("done", 2, "done")
    assert [step.observation for step in first.steps] == [found(q="rain")]
    offered = ["tools" in request.body for request in stage.endpoint.requests]
    assert offered == [True, False, False, False]


async def test_a_tool_that_is_not_on_offer_runs_and_joins_the_selection(
    set_stage: SetStage, speech: Any
) -> None:
    """R4.3."""
    replies = [
        *picked(speech, "ping"),
        speech.calls(("search", {"q": "x"})),
        speech.calls(("ping", {})),
        speech.final("done"),
    ]
    stage = set_stage(replies, [ping, search, save], tool_selection_threshold=2, synthesis="never")

    result = await stage.agent.run("q", thread_id="t")

    assert [step.observation for step in result.steps] == [found(q="x"), "pong"]
    assert result.answer == "done"
    offers = [str(request.body) for request in stage.endpoint.requests[-3:]]
    assert ["Search." in offer for offer in offers] == [False, True, True]
    assert not any("Save." in offer for offer in offers)


def picked(speech: Any, *names: str) -> list[Any]:
    """Replies to the selection of tools."""
    chosen = orjson.dumps({"tools": names}).decode()
    return [calling(wire("select_tools", chosen))]


@pytest.mark.parametrize(
    "nothing",
    [
        pytest.param({"content": "", "reasoning_content": "Long thought."}, id="B50"),
        pytest.param(
            {"content": "", "reasoning_content": "Long.", "finish_reason": "length"}, id="B50 cut"
        ),
        pytest.param({"content": "<think>Long thought."}, id="B10 unclosed"),
        pytest.param({"content": " \n"}, id="blank"),
    ],
)
async def test_a_reply_that_says_nothing_is_asked_for_once_more(
    set_stage: SetStage, speech: Any, nothing: dict[str, Any]
) -> None:
    """R2.6: both count as one iteration, and both are counted."""
    stage = set_stage([nothing, speech.final("Answer."), nothing, nothing], [search])

    first = await stage.agent.run("q", thread_id="t")
    second = await stage.agent.run("q", thread_id="t")

    assert (first.answer, first.iterations) == ("Answer.", 1)
    assert first.usage["by_purpose"]["loop"]["calls"] == 2
    assert (second.answer, second.iterations) == (NOTHING_FOUND, 1)
    assert second.usage["by_purpose"]["loop"]["calls"] == 2
    assert stage.endpoint.rejected == []
