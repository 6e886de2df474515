"""A LangGraph agent with two tools: a model node, a tools node, and an edge back, until the model is done."""

import json
import operator
import uuid
from typing import Annotated, Any, TypedDict

import openai
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

client = openai.OpenAI()


def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


def lookup(word: str) -> str:
    """Say what a word means: something else in each run."""
    return f"{word} means {uuid.uuid4()}"


RUN = {"add": add, "lookup": lookup}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in RUN]
ask = {"model": "stub", "tools": TOOLS}


class State(TypedDict):
    """The conversation."""

    messages: Annotated[list[Any], operator.add]


def model(state: State) -> State:
    """Ask."""
    said = client.chat.completions.create(messages=state["messages"], **ask).choices[0].message
    return {"messages": [said.model_dump(exclude_none=True)]}


def tools(state: State) -> State:
    """Do what was asked for."""
    calls = state["messages"][-1]["tool_calls"]
    done = [RUN[call["function"]["name"]](**json.loads(call["function"]["arguments"])) for call in calls]
    ids = [call["id"] for call in calls]
    return {
        "messages": [
            {"role": "tool", "tool_call_id": name, "content": text}
            for name, text in zip(ids, done, strict=True)
        ]
    }


def further(state: State) -> str:
    """To the tools, or to the end."""
    return "tools" if state["messages"][-1].get("tool_calls") else END


built = StateGraph(State).add_node("model", model).add_node("tools", tools)
built = built.add_edge(START, "model").add_conditional_edges("model", further).add_edge("tools", "model")
graph = built.compile(checkpointer=InMemorySaver())
for prompt in ("first", "second"):
    config = {"configurable": {"thread_id": str(uuid.uuid4())}}
    state = graph.invoke({"messages": [{"role": "user", "content": prompt}]}, config)
    print(state["messages"][-1]["content"])
