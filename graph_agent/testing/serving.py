"""Plays one scripted reply to one request."""

import asyncio
import inspect
from collections.abc import Awaitable, Mapping, Sequence
from threading import Thread
from typing import Any

from graph_agent.testing.exchange import EVENT_STREAM, JSON, Exchange
from graph_agent.testing.profiles import Profile
from graph_agent.testing.refusal import Refusal, error_body
from graph_agent.testing.replies import (
    Answer,
    Delay,
    Deltas,
    Drop,
    Gate,
    Held,
    HttpError,
    Json,
    RawBytes,
    Reply,
    Responder,
    Silence,
)
from graph_agent.testing.tokens import usage_of
from graph_agent.testing.wire import (
    DONE,
    assistant_message,
    chunks,
    completion,
    finish_reason_of,
    frame,
    merged,
    message_deltas,
)


class Serving:
    """One request's body, and the exchange on which it is answered."""

    def __init__(
        self, exchange: Exchange, body: Json, profile: Profile, *, prompt_tokens: int, number: int
    ) -> None:
        """Answer on `exchange`.

        Args:
            exchange: The open connection.
            body: The accepted request.
            profile: Whose error bodies are sent.
            prompt_tokens: For the usage.
            number: Counts the endpoint's replies, for ids of calls that the script leaves out.
        """
        self.message: Json | None = None
        """The assistant message that was meant, once there was one."""
        self._exchange = exchange
        self._body = body
        self._profile = profile
        self._prompt_tokens = prompt_tokens
        self._number = number
        self._streamed = bool(body.get("stream"))

    async def play(self, reply: Reply) -> None:
        """Send the reply, streamed if the request asked for that, or misbehave as it says."""
        match reply:
            case str() | Mapping():
                await self._say(reply)
            case Deltas():
                await self._send_deltas(reply)
            case HttpError():
                await self._refuse(reply)
            case RawBytes():
                await self._send_raw(reply)
            case Delay(seconds=seconds):
                await self._exchange.wait(asyncio.sleep(seconds))
                await self.play(reply.reply)
            case Held(gate=gate):
                await self._exchange.wait(gate.hold())
                await self.play(reply.reply)
            case Drop() | Silence():
                await self._break_off(reply)
            case _:
                await self.play(await self._exchange.wait(_called(reply, self._body)))

    async def _say(self, reply: str | Mapping[str, Any]) -> None:
        message = assistant_message(reply, self._number)
        scripted = {} if isinstance(reply, str) else reply
        finish_reason = scripted.get("finish_reason") or (
            "tool_calls" if message.get("tool_calls") else "stop"
        )
        usage = scripted.get("usage", "estimate")
        if self._streamed:
            deltas = Deltas(message_deltas(message), finish_reason=finish_reason, usage=usage)
            await self._stream(deltas, message)
        else:
            await self._complete(message, finish_reason, usage)

    async def _send_deltas(self, reply: Deltas) -> None:
        if self._streamed:
            await self._stream(reply, merged(reply.deltas))
            return
        for gate in reply.deltas:
            if isinstance(gate, Gate):
                await self._exchange.wait(gate.hold())
        await self._complete(merged(reply.deltas), finish_reason_of(reply), reply.usage)

    async def _complete(self, message: Json, finish_reason: str | None, usage: Any) -> None:
        self.message = message
        counted = self._usage(message, usage)
        await self._exchange.respond(completion(self._body, message, finish_reason, counted))

    async def _stream(self, reply: Deltas, message: Json) -> None:
        self.message = message
        options = self._body.get("stream_options") or {}
        wanted = options.get("include_usage", False)
        usage = self._usage(message, reply.usage) if wanted else None
        await self._exchange.begin(EVENT_STREAM)
        for chunk in chunks(self._body, reply, usage):
            if reply.interval:
                await self._exchange.wait(asyncio.sleep(reply.interval))
            await self._send_chunk(chunk)
        await self._exchange.end(DONE if reply.done else b"")

    def _usage(self, message: Json, usage: Any) -> Json | None:
        if usage is None:
            return None
        override = usage if isinstance(usage, Mapping) else None
        return usage_of(self._prompt_tokens, message, override)

    async def _send_chunk(self, chunk: Json | Gate) -> None:
        if isinstance(chunk, Gate):
            await self._exchange.wait(chunk.hold())
        else:
            await self._exchange.write(frame(chunk))

    async def _break_off(self, reply: Drop | Silence) -> None:
        if reply.after is not None:
            await self._exchange.begin(EVENT_STREAM if self._streamed else JSON)
            await self._begin_body(reply.after)
        if isinstance(reply, Drop):
            await self._exchange.drop()
        else:
            await self._exchange.silence()

    async def _begin_body(self, after: Sequence[Json | Gate]) -> None:
        if self._streamed:
            for chunk in chunks(self._body, Deltas(after, finish_reason=None), None):
                await self._send_chunk(chunk)
        else:
            whole = completion(self._body, merged(after), None, None)
            await self._exchange.write(whole[: len(whole) // 2])

    async def _refuse(self, error: HttpError) -> None:
        refusal = Refusal(message=error.message, status=error.status, code=error.code)
        body = error_body(refusal, self._profile.error_shape) if error.body is None else error.body
        await self._exchange.respond(body, status=error.status, headers=error.headers)

    async def _send_raw(self, reply: RawBytes) -> None:
        await self._exchange.begin(reply.content_type)
        for start in range(0, len(reply.data), reply.chunk_size):
            await self._exchange.write(reply.data[start : start + reply.chunk_size])
            await asyncio.sleep(0)
        await self._exchange.end()


async def _called(responder: Responder, body: Json) -> Answer:
    """Call the test's function; a plain one in a thread, since it may block until the test acts."""
    blocks = not inspect.iscoroutinefunction(responder)
    outcome = await _in_thread(responder, body) if blocks else responder(body)
    return await outcome if isinstance(outcome, Awaitable) else outcome


async def _in_thread(responder: Responder, body: Json) -> Answer | Awaitable[Answer]:
    """Call in a daemon thread: one that never returns must not keep the endpoint from closing."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Answer | Awaitable[Answer]] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(value)
        else:
            outcome.set_exception(error)

    def call() -> None:
        value, failure = None, None
        try:
            value = responder(body)
        except Exception as error:  # noqa: BLE001 - it travels to the waiting coroutine, whatever it is
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, failure)

    Thread(target=call, daemon=True).start()
    return await outcome
