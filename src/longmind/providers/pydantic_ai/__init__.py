"""Remote language models and embedders, called through pydantic-ai."""
