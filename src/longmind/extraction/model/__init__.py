"""Extraction by a language model.

`transcript` shows a conversation to the model in windows, `numbered_facts` what is known, `prompt_versions` holds the
instructions, `answer_schema` reads the answer, `citations` turns its facts into candidates, and `spend_cap` limits what
it costs.
"""
