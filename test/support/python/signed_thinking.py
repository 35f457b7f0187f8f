"""Runs two tool turns and the answer, with the accumulator of the official SDK. Arguments: base URL, key, stream or whole."""

import sys

from openai import OpenAI

base_url, api_key, form = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0)
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
messages = [{"role": "user", "content": "Rome and Paris?"}]
request = {"model": "thinker", "tools": tools, "reasoning_effort": "high"}


def ask():
    if form == "whole":
        return client.chat.completions.create(messages=messages, **request)
    with client.chat.completions.stream(messages=messages, **request) as stream:
        return stream.get_final_completion()


while True:
    message = ask().choices[0].message
    messages.append(message.to_dict())
    if not message.tool_calls:
        print(message.content)
        break
    for call in message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})
