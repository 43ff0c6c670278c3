"""The embedded model answers most of twenty questions, by the whole agent, as a user would ask."""

import time
from pathlib import Path

import pytest

from graph_agent import ModelRegistry, ReActAgent
from graph_agent.models.spec import ModelSpec, PartialAbilities
from tests.local.checker import is_raw_call, passes, read_questions
from tests.local.tools import TOOLS

QUESTIONS = read_questions(Path(__file__).with_name("questions.json"))
WANTED = 16
"""Right answers; greedy decoding gives the same ones each time, in both starts."""

pytestmark = [pytest.mark.anyio, pytest.mark.local]


@pytest.mark.parametrize(
    "claims_tools",
    [
        pytest.param(False, id="in JSON mode"),
        pytest.param(True, id="told that it calls tools, which it must find out"),
    ],
)
async def test_the_embedded_model_answers_most_questions(
    claims_tools: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, right, raw = [], 0, []
    abilities = PartialAbilities(tool_call=True) if claims_tools else PartialAbilities()
    models = ModelRegistry({"small": ModelSpec(provider="local", abilities=abilities)})
    async with ReActAgent("small", TOOLS, models=models, database="memory:") as agent:
        for question in QUESTIONS:
            start = time.perf_counter()
            result = await agent.run(question.text)
            seconds = time.perf_counter() - start
            ok = passes(result.answer, question.check)
            right += ok
            raw += [question.id] if is_raw_call(result.answer) else []
            calls = " ".join(step.tool_name for step in result.steps)
            rows.append(
                f"{question.id} {'right' if ok else 'WRONG'} {seconds:5.1f} s, "
                f"{result.usage['calls']} model calls [{calls}] {result.answer[:100]!r}"
            )

    with capsys.disabled():
        print("", *rows, f"{right} of {len(QUESTIONS)} right", sep="\n")  # noqa: T201 -- the table is what the test is run for
    assert raw == []
    assert right >= WANTED
