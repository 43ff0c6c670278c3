from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_agent.models.event_decoder import EventDecoder


def decoded(*packets: bytes) -> list[str]:
    decoder = EventDecoder()
    return [data for packet in packets for data in decoder.feed(packet)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        pytest.param(b"data: a\n\ndata: b\n\n", ["a", "b"], id="LF"),
        pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"], id="CRLF"),
        pytest.param(b"data: a\r\rdata: b\r\r", ["a", "b"], id="CR"),
        pytest.param(b"data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", ["a", "b", "c"], id="mixed"),
        pytest.param(b"data: a\ndata: b\ndata:\ndata: c\n\n", ["a\nb\n\nc"], id="several lines"),
        pytest.param(b"data:a\n\ndata:  b\n\n", ["a", " b"], id="one space is dropped"),
        pytest.param(b"data\n\ndata:\n\n", ["", ""], id="data that is empty"),
        pytest.param(b": hello\n\n:\ndata: a\n:\n\n", ["a"], id="comments"),
        pytest.param(b"event: ping\nid: 7\nretry: 9\n\n", [], id="an event without data"),
        pytest.param(b"id: 7\nevent: x\ndata: a\n\n\n\ndata: b\n\n", ["a", "b"], id="fields"),
        pytest.param(b"datas: a\n data: b\nDATA: c\n\n", [], id="names that are like it"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", ["a"], id="a byte order mark"),
        pytest.param(b"\n\xef\xbb\xbfdata: a\n\n", [], id="a byte order mark is at the start"),
        pytest.param(b"data: a\n\ndata: b\n", ["a"], id="the end cuts an event off"),
        pytest.param(b"data: a\n\ndata: b", ["a"], id="the end cuts a line off"),
        pytest.param(
            "data: a\u2028b\x0b\x0c\x85\n\n".encode(), ["a\u2028b\x0b\x0c\x85"], id="text"
        ),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_the_rules(stream: bytes, events: list[str]) -> None:
    assert decoded(stream) == events
    assert decoded(*(bytes([byte]) for byte in stream)) == events


def test_an_event_is_told_with_the_byte_that_ends_it() -> None:
    decoder = EventDecoder()

    told = [decoder.feed(packet) for packet in (b"data: a\r\n", b"\r", b"\ndata: b\n", b"\n")]

    assert told == [[], ["a"], [], ["b"]]


def test_what_is_no_utf_8_is_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        decoded(b"data: \xff\n\n")


TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=8)
NOISE = st.lists(st.sampled_from([": hm", ":", "id: 7", "event: x", "other"]), max_size=2)
EVENTS = st.lists(st.tuples(NOISE, st.lists(TEXTS, min_size=1, max_size=3)), max_size=5)
CUTS = st.lists(st.integers(0, 200), max_size=12)


def cut(stream: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = [0, *sorted(place for place in cuts if place < len(stream)), len(stream)]
    return [stream[start:end] for start, end in pairwise(places)]


@given(events=EVENTS, line_end=st.sampled_from(["\n", "\r\n", "\r"]), cuts=CUTS)
def test_events_come_back_wherever_their_stream_is_cut(
    events: Sequence[tuple[list[str], list[str]]], line_end: str, cuts: list[int]
) -> None:
    lines = [
        f"{line}{line_end}"
        for noise, texts in events
        for line in [*noise, *(f"data: {text}" for text in texts), ""]
    ]

    packets = cut("".join(lines).encode(), cuts)

    assert decoded(*packets) == ["\n".join(texts) for _, texts in events]


@given(stream=st.text("da:\r\n \ufeff서", max_size=60), cuts=CUTS)
def test_any_stream_means_the_same_however_it_is_cut(stream: str, cuts: list[int]) -> None:
    whole = "data: a\r\n" + stream.replace("d", "data:")

    assert decoded(*cut(whole.encode(), cuts)) == decoded(whole.encode())
