#!/usr/bin/env python3
"""Generates text with a decoder compiled by ptc, always with the likeliest byte; needs NumPy.

export.py makes the library:

    PYTHONPATH=tools/python python3 examples/generate/generate.py ./decoder.so COUNT PROMPT [PROMPT...]
"""

import sys
import time

import numpy as np

import ptc


class Conversation:
    """A text, and a model whose cache has the beginning of it. Each `ptc.load` of the library makes a context, that is
    states of its own, while code and weights are in memory once. To use a model for another text, begin at position 0;
    `reset_states` also forgets the old one."""

    def __init__(self, library: str, prompt: str) -> None:
        self.model, self.text, self.cached = ptc.load(library), bytearray(prompt.encode()), 0

    def grow(self) -> None:
        """Gives the model what its cache lacks, which is the prompt at first and then one byte, and adds a byte."""
        tokens = np.array(list(self.text[self.cached :]), np.int64)
        (logits,) = self.model(tokens, self.cached)
        self.cached = len(self.text)
        self.text.append(int(logits.numpy().argmax()))


def main() -> None:
    library, count, *prompts = sys.argv[1:]
    conversations = [Conversation(library, prompt) for prompt in prompts]
    for conversation in conversations:
        conversation.grow()
    start = time.perf_counter()
    for _ in range(1, int(count)):
        for conversation in conversations:  # in turns: no one's cache is another's
            conversation.grow()
    seconds = time.perf_counter() - start
    for conversation in conversations:
        print(conversation.text.decode(errors="replace"))
    print(f"{(int(count) - 1) * len(conversations) / seconds:.0f} tokens per second", file=sys.stderr)


if __name__ == "__main__":
    main()
