"""A GGUF file is served in a moment, once, and leaves nothing behind; a bad one is told apart.

The model is a real one for llama.cpp, with one layer and random weights, written here.
"""

import asyncio
import random
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path

import httpx
import pytest

from graph_agent.errors import ConfigError
from graph_agent.models.embedded import EmbeddedServer, EmbeddedServers, serve

UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
"""Types of values in a GGUF file."""
WIDTH, INNER, HEADS = 32, 64, 4
TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
UNKNOWN, CONTROL, BYTE = 2, 3, 6
"""Types of tokens."""
SETTINGS: dict[str, int | float | str] = {
    "general.architecture": "llama",
    "llama.attention.head_count": HEADS,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.block_count": 1,
    "llama.context_length": 512,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": INNER,
    "llama.rope.dimension_count": WIDTH // HEADS,
    "llama.vocab_size": len(TOKENS),
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
}
TENSORS = {
    "token_embd": (WIDTH, len(TOKENS)),
    "output": (WIDTH, len(TOKENS)),
    "output_norm": (WIDTH,),
    "blk.0.attn_norm": (WIDTH,),
    "blk.0.attn_q": (WIDTH, WIDTH),
    "blk.0.attn_k": (WIDTH, WIDTH),
    "blk.0.attn_v": (WIDTH, WIDTH),
    "blk.0.attn_output": (WIDTH, WIDTH),
    "blk.0.ffn_norm": (WIDTH,),
    "blk.0.ffn_gate": (WIDTH, INNER),
    "blk.0.ffn_up": (WIDTH, INNER),
    "blk.0.ffn_down": (INNER, WIDTH),
}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def setting(value: float | str) -> bytes:
    match value:
        case str():
            return struct.pack("<I", STRING) + text(value)
        case int():
            return struct.pack("<II", UINT32, value)
    return struct.pack("<If", FLOAT32, value)


def array(kind: int, items: Sequence[bytes]) -> bytes:
    return struct.pack("<IIQ", ARRAY, kind, len(items)) + b"".join(items)


def tiny_gguf() -> bytes:
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    values = {key: setting(value) for key, value in SETTINGS.items()} | {
        "tokenizer.ggml.tokens": array(STRING, [text(token) for token in TOKENS]),
        "tokenizer.ggml.scores": array(FLOAT32, [struct.pack("<f", 0.0)] * len(TOKENS)),
        "tokenizer.ggml.token_type": array(INT32, [struct.pack("<i", kind) for kind in kinds]),
    }
    numbers = random.Random(0)
    described, data = b"", b""
    for name, shape in TENSORS.items():
        described += text(f"{name}.weight") + struct.pack("<I", len(shape))
        described += struct.pack(f"<{len(shape)}QIQ", *shape, 0, len(data))
        size = prod(shape)
        data += struct.pack(f"<{size}f", *(numbers.uniform(-0.1, 0.1) for _ in range(size)))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(TENSORS), len(values))
    head += b"".join(text(key) + value for key, value in values.items()) + described
    return head + bytes(-len(head) % 32) + data


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    path.write_bytes(tiny_gguf())
    return path


@pytest.fixture
def servers() -> Iterator[EmbeddedServers]:
    servers = EmbeddedServers()
    yield servers
    servers.stop()


def ask(base_url: str, tokens: int) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": tokens}
    return httpx.post(f"{base_url}/chat/completions", json={**body, "ignore_eos": True}, timeout=60)


def test_a_file_is_served_behind_the_openai_api(tiny: Path, servers: EmbeddedServers) -> None:
    reply = ask(servers.get(tiny, context_size=256).base_url, tokens=5).json()

    assert reply["object"] == "chat.completion"
    assert reply["usage"]["completion_tokens"] == 5


def test_a_request_may_take_the_whole_context_also_where_two_run(
    tiny: Path, servers: EmbeddedServers
) -> None:
    server = servers.get(tiny, context_size=256, parallel=2)

    assert ask(server.base_url, tokens=1000).json()["usage"]["total_tokens"] == 256


def test_a_server_is_shared_by_file_and_size(tiny: Path, servers: EmbeddedServers) -> None:
    first = servers.get(tiny, context_size=256)

    assert servers.get(tiny, context_size=256) is first
    assert servers.get(tiny, context_size=512) is not first


def test_a_server_that_died_is_started_again(tiny: Path, servers: EmbeddedServers) -> None:
    first = servers.get(tiny, context_size=256)
    first.stop()
    with pytest.raises(httpx.ConnectError):
        ask(first.base_url, tokens=1)

    second = servers.get(tiny, context_size=256)

    assert ask(second.base_url, tokens=1).status_code == httpx.codes.OK


@pytest.mark.anyio
async def test_callers_at_the_same_time_share_one_start_and_the_loop_goes_on(tiny: Path) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0)
            beats += 1

    beating = asyncio.create_task(beat())
    urls = await asyncio.gather(*(serve(tiny, context_size=256) for _ in range(3)))
    beating.cancel()

    assert len(set(urls)) == 1
    assert beats > 100


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(b"", "is no GGUF file", id="empty"),
        pytest.param(b"PK\3\4 something else", "is no GGUF file", id="other format"),
        pytest.param(tiny_gguf()[:5000], "failed to read key-value pairs", id="header cut off"),
        pytest.param(tiny_gguf()[:-5000], "not within the file bounds", id="weights cut off"),
        pytest.param(b"GGUF\x63\0\0\0" + bytes(100), "version 99", id="unknown version"),
        pytest.param(
            tiny_gguf().replace(b"llama", b"lhama"), "unknown model architecture", id="unknown kind"
        ),
    ],
)
def test_a_file_that_cannot_be_loaded_is_a_configuration_error(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=fault) as caught:
        EmbeddedServer(path, context_size=256, parallel=1)

    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["missing.gguf", "."])
def test_a_path_that_is_no_file_is_a_configuration_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        EmbeddedServer(tmp_path / name, context_size=256, parallel=1)


LEAVE_DURING_A_REPLY = """
import asyncio, sys
from pathlib import Path
from urllib.request import Request, urlopen
from graph_agent.models.embedded import serve

url = asyncio.run(serve(Path(sys.argv[1]), context_size=100_000))
body = b'{"messages": [{"role": "user", "content": "hi"}], "ignore_eos": true, "stream": true}'
reply = urlopen(Request(url + "/chat/completions", body))
reply.readline()
print(url)
"""


def test_a_process_that_leaves_during_a_reply_ends_well_and_takes_the_server_along(
    tiny: Path,
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEAVE_DURING_A_REPLY, str(tiny)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    (url,) = ended.stdout.splitlines()
    with pytest.raises(httpx.ConnectError):
        ask(url, tokens=1)
