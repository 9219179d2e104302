"""The generate loop of a transformer of Hugging Face."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=64, bos_token_id=1, eos_token_id=2, pad_token_id=0
)
model = GPT2LMHeadModel(config).eval()
example_inputs = {"input_ids": torch.tensor([[5, 7, 11]])}


def generate(input_ids):
    mask = torch.ones_like(input_ids)
    return model.generate(input_ids, attention_mask=mask, max_new_tokens=4, do_sample=False)
