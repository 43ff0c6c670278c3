"""The estimate, held against a real tokenizer with both of OpenAI's vocabularies."""

import base64
import json
import random
import statistics
import time
from pathlib import Path

import pytest
import toktok

import graph_agent
from graph_agent.context.estimate import estimated_tokens

VOCABULARIES = ("o200k_base", "cl100k_base")  # of 200,000 and of 100,000 tokens
NOISE = random.Random(1)
ENGLISH = (
    "The morning train leaves at seven fifty-two from platform four, and whoever misses it has to "
    "wait for an hour; nobody could quite remember why, though several had written it down. "
)
KOREAN = (
    "ReAct 엔진은 2단계 실행 모델을 구현합니다. 에이전트는 도구를 실행하고, 관찰을 추가하고, "
    "모델이 완료 신호를 보낼 때까지 계속합니다. 오늘 서울의 날씨는 맑고 기온은 3도입니다. "
)
CHINESE = "北京是中华人民共和国的首都、全国的政治和文化中心。今天的天气很好。我们一起去公园散步吧。"
ROWS = [
    {"id": n, "name": f"item {n}", "price": round(NOISE.random() * 100, 2), "tags": ["a", "bb"]}
    for n in range(80)
]
CORPUS = {
    "English": ENGLISH * 20,
    "Markdown": Path(graph_agent.__file__).parent.parent.joinpath("README.md").read_text("utf-8"),
    "Korean": KOREAN * 20,
    "Chinese": CHINESE * 20,
    "Python": Path(graph_agent.__file__).parent.joinpath("graph.py").read_text("utf-8"),
    "JSON": json.dumps(ROWS),
    "indented JSON": json.dumps(ROWS, indent=2),
    "base64": base64.b64encode(NOISE.randbytes(6_000)).decode(),
    "emoji": "".join(NOISE.choice("😀😂🥰😎🤖🚀🌍🔥✨💡") for _ in range(800)),
}
LEAST = {"o200k_base": 0.97, "cl100k_base": 0.8}
"""What the estimate is, of the true count, at least; the older vocabulary is not held to it."""
MOST = 1.3
"""What it is on average, at most."""


def ratio(text: str, vocabulary: str) -> float:
    true: int = toktok.batch_count([text], vocabulary, 1)[0]
    return estimated_tokens(text) / true


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("kind", CORPUS)
def test_a_text_is_never_taken_for_much_shorter(kind: str, vocabulary: str) -> None:
    assert ratio(CORPUS[kind], vocabulary) >= LEAST[vocabulary]


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_on_average_little_is_wasted(vocabulary: str) -> None:
    assert statistics.mean(ratio(text, vocabulary) for text in CORPUS.values()) <= MOST


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 1_000_000, id="one letter"),
        pytest.param("a1B/" * 250_000, id="no space"),
        pytest.param("서울" * 500_000, id="Korean"),
        pytest.param("<|endoftext|>" * 80_000, id="special tokens"),
        pytest.param("\n \t" * 330_000, id="blanks"),
        pytest.param("aé" * 500_000, id="a gap at each letter"),
        pytest.param("😀" * 500_000, id="emoji"),
    ],
)
def test_a_megabyte_takes_linear_time(text: str) -> None:
    small, large = _seconds(text[: len(text) // 8]), _seconds(text)

    assert large < 8 * 4 * small


def _seconds(text: str) -> float:
    """The least of five measurements, which noise makes longer but never shorter."""
    times = []
    for _ in range(5):
        started = time.process_time()
        estimated_tokens(text)
        times.append(time.process_time() - started)
    return min(times)


def test_special_tokens_are_just_text() -> None:
    assert estimated_tokens("<|endoftext|>") >= 7


@pytest.mark.parametrize(
    ("joined", "apart"),
    [
        pytest.param("élève", "é l è ve", id="a gap parts words"),
        pytest.param("서울?서울", "서울 ! 서울", id="a question mark is no gap"),
        pytest.param("a\ud83db", "a \U0001f600 b", id="half a character"),
        pytest.param("∀x∈∅", "∀ x ∈ ∅", id="symbols"),
    ],
)
def test_what_stands_between_other_scripts_is_counted(joined: str, apart: str) -> None:
    assert estimated_tokens(joined) == estimated_tokens(apart)
