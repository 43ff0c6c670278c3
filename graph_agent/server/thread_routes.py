"""The API of kept threads: rename, delete, look back, fork, export."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from graph_agent.errors import ThreadNotFoundError
from graph_agent.server.bodies import ForkRequest, ThreadChange, ThreadCreated
from graph_agent.server.routes import Agent
from graph_agent.threads.export import ExportedThread
from graph_agent.threads.history import CheckpointInfo
from graph_agent.threads.kept import Form
from graph_agent.threads.listing import ThreadInfo

router = APIRouter(prefix="/api/threads/{thread_id}")

MEDIA_TYPES: dict[Form, str] = {"markdown": "text/markdown", "json": "application/json"}
MARKDOWN = {"text/markdown": {"schema": {"type": "string"}}}


async def known_thread(thread_id: str, agent: Agent) -> str:
    """Return the id of a thread that is on the list."""
    if await agent.thread(thread_id) is None:
        raise ThreadNotFoundError(thread_id)
    return thread_id


Known = Annotated[str, Depends(known_thread)]


@router.patch("")
async def rename_thread(thread_id: Known, body: ThreadChange, agent: Agent) -> ThreadInfo:
    """Give a conversation a title; a run in progress is not disturbed."""
    return await agent.rename(thread_id, body.title)


@router.delete("", status_code=HTTPStatus.NO_CONTENT)
async def delete_thread(thread_id: Known, agent: Agent) -> None:
    """Delete a conversation for good; one with a run in progress is refused."""
    await agent.delete(thread_id)


@router.get("/history")
async def read_history(
    thread_id: Known, agent: Agent, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> list[CheckpointInfo]:
    """List a conversation's saved steps, newest first."""
    return await agent.history(thread_id, limit)


@router.post("/fork", status_code=HTTPStatus.CREATED)
async def fork_thread(
    thread_id: Known, agent: Agent, body: ForkRequest | None = None
) -> ThreadCreated:
    """Begin a new conversation with what this one held, at a step or, if none is named, now."""
    checkpoint_id = body.checkpoint_id if body else None
    return ThreadCreated(thread_id=await agent.fork(thread_id, checkpoint_id))


@router.get(
    "/export",
    response_model=None,
    responses={200: {"model": ExportedThread, "description": "The export", "content": MARKDOWN}},
)
async def export_thread(thread_id: Known, agent: Agent, form: Form = "markdown") -> Response:
    """Write a conversation down: as Markdown for people, or whole as JSON."""
    text = await agent.export(thread_id, form)
    return Response(text, media_type=MEDIA_TYPES[form])
