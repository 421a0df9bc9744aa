"""Agents: a model, its instructions and its tools as JSON, registered once for an app and invoked for each user."""

from longmind.agents.service import Agents

__all__ = ["Agents"]
