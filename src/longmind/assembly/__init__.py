"""Assembly of prompts: memory is sanitised, counted, cut to a budget and laid out by a template."""
