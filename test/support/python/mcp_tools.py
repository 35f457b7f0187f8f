"""The official Python SDK against the tool server: connect, list, call, progress, cancel, over both transports."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, McpError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client

URL = os.environ["SLUICE_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['SLUICE_TOKEN']}"}
SLOW = '[[sim {"eventsPerSecond": 10, "tokens": 8}]] Go on'
ENDLESS = '[[sim {"eventsPerSecond": 2, "tokens": 400}]] Go on'


def chat(content):
    return {"model": "sim-gpt", "messages": [{"role": "user", "content": content}]}


async def use(session, seen):
    initialized = await session.initialize()
    seen["server"] = initialized.serverInfo.name
    seen["protocol"] = initialized.protocolVersion
    seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
    keys = await session.call_tool("list_keys", {"limit": 1})
    seen["keys"] = len(keys.structuredContent["data"])
    progress = []

    async def told(done, total, message):
        progress.append(done)

    answer = await session.call_tool("chat_completion", chat(SLOW), progress_callback=told)
    seen["answer"] = answer.structuredContent["finish_reason"]
    seen["progress"] = progress
    failed = await session.call_tool("get_key", {"key_id": "key_x"})
    seen["failed"] = failed.isError
    seen["resources"] = [str(one.uri) for one in (await session.list_resources()).resources]
    try:
        await asyncio.wait_for(session.call_tool("chat_completion", chat(ENDLESS)), 2)
    except (asyncio.TimeoutError, McpError):
        seen["given_up"] = True
    seen["still"] = len((await session.list_tools()).tools)


async def main():
    seen = {"streamable": {}, "sse": {}}
    async with streamablehttp_client(f"{URL}/mcp", headers=HEADERS) as (read, write, _):
        async with ClientSession(read, write) as session:
            await use(session, seen["streamable"])
    async with sse_client(f"{URL}/mcp/sse", headers=HEADERS) as (read, write):
        async with ClientSession(read, write) as session:
            await use(session, seen["sse"])
    print(json.dumps(seen))


asyncio.run(main())
sys.exit(0)
