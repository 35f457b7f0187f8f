"""Prints the class of the exception that LangChain raises. Arguments: protocol, base URL, key, model, stream or whole."""

import sys

from langchain_anthropic import ChatAnthropic
from langchain_core.exceptions import ContextOverflowError
from langchain_openai import ChatOpenAI

protocol, base_url, api_key, model, form = sys.argv[1:]
if protocol == "messages":
    chat = ChatAnthropic(model=model, base_url=base_url, api_key=api_key, max_retries=0, max_tokens=100)
else:
    responses = protocol == "responses"
    chat = ChatOpenAI(model=model, base_url=base_url, api_key=api_key, max_retries=0, use_responses_api=responses)
try:
    if form == "whole":
        chat.invoke("Hello")
    else:
        for _ in chat.stream("Hello"):
            pass
    print("answered")
except ContextOverflowError as overflow:
    print("overflow")
except Exception as other:
    print(type(other).__name__, other)
