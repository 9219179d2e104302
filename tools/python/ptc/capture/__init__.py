"""Captures what Dynamo makes of ordinary Python (see command.py)."""
