"""Memory for agents that speak the Model Context Protocol, over standard input and output and over HTTP.

Tools, resources and prompts are those of a context; nothing here knows more of memory than how to hand it on. The SDK
takes a while to load, so this package imports nothing by itself.
"""
