"""A fake OpenAI endpoint over real HTTP: as strict as real servers, and scripted by a test."""

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

import orjson
from starlette.types import Receive, Scope, Send

from graph_agent.testing.admission import Admission
from graph_agent.testing.exchange import ClientLeftError, Exchange
from graph_agent.testing.loopback import HOST, LoopbackServer
from graph_agent.testing.profiles import Profile, profile_named
from graph_agent.testing.recorded import Recorded
from graph_agent.testing.refusal import Refusal, error_body
from graph_agent.testing.replies import HttpError, Json, Reply, Responder
from graph_agent.testing.serving import Serving
from graph_agent.testing.tokens import estimate_tokens
from graph_agent.testing.wire import assistant_message


class StrictEndpoint:
    """`/v1/chat/completions`, `/v1/models` and `/health` on a free loopback port.

    Requests are checked as the profile's server does; a refused one uses no reply up. On
    leaving the context, and in `check`, what went wrong is raised as an `AssertionError`.
    `async with` does the same without ever blocking the test's event loop.

    Example:
        >>> import httpx
        >>> ask = {"model": "m", "messages": [{"role": "user", "content": "2 + 2?"}]}
        >>> with StrictEndpoint(["4"]) as endpoint:
        ...     reply = httpx.post(f"{endpoint.base_url}/chat/completions", json=ask).json()
        >>> reply["choices"][0]["message"]["content"]
        '4'
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Responder = (),
        *,
        profile: str | Profile = "openai",
        api_key: str | None = None,
        context_limit: int | None = None,
        count: Callable[[Json], int] = estimate_tokens,
        models: Sequence[str] = ("fake",),
        allow_malformed: bool = False,
        allow_unserved: bool = True,
        keep: int | None = None,
    ) -> None:
        """Script an endpoint; nothing runs before the context is entered.

        Args:
            replies: One reply per accepted request, in order; or one function that answers every
                request. The one function runs on the server's own event loop and must not block
                unless it is `async`; functions within a list may block.
            profile: Which server's rules hold, by name or as flags.
            api_key: The only key that is let in; None lets everyone in.
            context_limit: Largest prompt, in tokens.
            count: Tokens of a request's body, for `context_limit` and the usage.
            models: What `GET /v1/models` lists.
            allow_malformed: Whether refused requests that broke the protocol are no mistake.
            allow_unserved: Whether replies may be left over at the end.
            keep: How many of the newest requests to remember; None: all.
        """
        self.profile = profile_named(profile) if isinstance(profile, str) else profile
        self.asked = 0
        """Requests for a completion so far, refused ones too."""
        self._responder = replies if callable(replies) else None
        self._replies: deque[Reply] = deque()
        self._scripted = 0
        self._accepted = 0
        if not callable(replies):
            self.reply(*replies)
        self._admission = Admission(
            self.profile, api_key=api_key, context_limit=context_limit, count=count
        )
        self._models = models
        self._allow_malformed = allow_malformed
        self._allow_unserved = allow_unserved
        self._recorded: deque[Recorded] = deque(maxlen=keep)
        self._mistakes: list[str] = []
        self._server = LoopbackServer(self._serve)

    @property
    def base_url(self) -> str:
        """The address to give a client, with `/v1`."""
        return f"http://{HOST}:{self._server.port}/v1"

    @property
    def requests(self) -> list[Recorded]:
        """Requests for a completion, oldest first."""
        return list(self._recorded)

    @property
    def rejected(self) -> list[Recorded]:
        """Those that were refused."""
        return [request for request in self.requests if request.rejected is not None]

    def reply(self, *replies: Reply) -> None:
        """Append replies to the script, also while it runs."""
        for reply in replies:
            if isinstance(reply, Mapping):
                assistant_message(reply)  # fails here, in the test's own line
        self._replies.extend(replies)
        self._scripted += len(replies)

    def check(self) -> None:
        """Raise `AssertionError` if replies ran out or failed, or a request was malformed."""
        overrun = self._responder is None and self._accepted > self._scripted
        mistakes = [*self._mistakes, *([self._run_out()] if overrun else [])]
        if mistakes:
            raise AssertionError("The fake endpoint was " + "; ".join(mistakes) + ".")

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        if error is None:
            self._conclude()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._server.close)
        if error is None:
            self._conclude()

    def _conclude(self) -> None:
        self.check()
        if self._replies and not self._allow_unserved:
            raise AssertionError(
                f"{len(self._replies)} of {self._scripted} replies were not asked for."
            )

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, self._server.reset)
        try:
            match scope["method"], scope["path"]:
                case "POST", "/v1/chat/completions":
                    await self._complete(exchange)
                case "GET", "/v1/models":
                    await exchange.respond(_model_list(self._models))
                case "GET", "/health":
                    await exchange.respond(b'{"status":"ok"}')
                case _:
                    await self._refuse(exchange, _no_such_route(scope))
        except (ClientLeftError, asyncio.CancelledError):
            pass  # Nobody listens any more: the client left, or the endpoint closes.
        finally:
            exchange.close()

    async def _complete(self, exchange: Exchange) -> None:
        raw = await exchange.read()
        admitted = self._admission.admit(raw, exchange.headers)
        request = Recorded.of(raw, exchange.headers, admitted)
        self.asked += 1
        self._recorded.append(request)
        if admitted.refusal is not None:
            if admitted.refusal.malformed and not self._allow_malformed:
                self._mistakes.append(f"sent a malformed request: {admitted.refusal.message}")
            await self._refuse(exchange, admitted.refusal)
            return
        self._accepted += 1
        serving = Serving(
            exchange,
            admitted.body,
            self.profile,
            prompt_tokens=admitted.tokens,
            number=self._accepted,
        )
        try:
            await self._answer(serving, exchange, admitted.body)
        except ClientLeftError:
            request.left.set()
        if serving.message is not None:
            self._admission.remember(serving.message)

    async def _answer(self, serving: Serving, exchange: Exchange, body: Json) -> None:
        try:
            await serving.play(await self._next_reply(exchange, body))
        except ClientLeftError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault in the test's script, told by `check`
            self._mistakes.append(f"given a reply that failed with {error!r}")
            await exchange.give_up(f"The test's reply failed with {error!r}.")

    async def _next_reply(self, exchange: Exchange, body: Json) -> Reply:
        if self._responder is not None:
            reply = self._responder(body)
            return await exchange.wait(reply) if inspect.isawaitable(reply) else reply
        if self._replies:
            return self._replies.popleft()
        return HttpError(status=500, message=self._run_out())

    def _run_out(self) -> str:
        return f"asked {self._accepted} times, scripted {self._scripted} replies"

    async def _refuse(self, exchange: Exchange, refusal: Refusal) -> None:
        body = error_body(refusal, self.profile.error_shape)
        await exchange.respond(body, status=refusal.status)


def _model_list(models: Sequence[str]) -> bytes:
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in models]
    return orjson.dumps({"object": "list", "data": data})


def _no_such_route(scope: Scope) -> Refusal:
    return Refusal(message=f"Invalid URL ({scope['method']} {scope['path']})", status=404)
