"""The evaluation suite: the quality of recall and extraction, measured on conversations with known answers.

It uses only public operations, so it measures what a program would get. Data sets are JSON files in one folder; without
them nothing here runs.
"""
