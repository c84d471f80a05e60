#!/usr/bin/env python3
"""Times training steps in PyTorch, of the models that gpu-check times: one line of JSON for each.

  torch_train.py                          all of them, on the GPU, in bf16, compiled
  torch_train.py gpt2 --batch 2 --device cpu --no-compile     to look at the script without one

A step is forward, backward and the optimizer, on a batch that is on the device already; steps are queued one after the
other and the device is waited for at the end of each round. The best round counts, as in gpu-check.
"""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(features, 3 * features)
        self.output = nn.Linear(features, features)

    def forward(self, x):
        batch, tokens, features = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in self.inputs(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, tokens, features))


class Layer(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.attention = Attention(features, heads)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 small, the output tied to the table of tokens."""

    def __init__(self, vocabulary=50257, tokens=1024, features=768, layers=12, heads=12):
        super().__init__()
        self.symbols, self.positions = nn.Embedding(vocabulary, features), nn.Embedding(tokens, features)
        self.layers = nn.Sequential(*(Layer(features, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(features)
        for table in (self.symbols, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens):
        x = self.symbols(tokens) + self.positions.weight[: tokens.shape[1]]
        return F.linear(self.norm(self.layers(x)), self.symbols.weight)


class Bottleneck(nn.Module):
    def __init__(self, channels, middle, stride):
        super().__init__()

        def block(inputs, outputs, size, step=1):
            return [nn.Conv2d(inputs, outputs, size, step, size // 2, bias=False), nn.BatchNorm2d(outputs)]

        self.body = nn.Sequential(*block(channels, middle, 1), nn.ReLU(inplace=True), *block(middle, middle, 3, stride),
                                  nn.ReLU(inplace=True), *block(middle, 4 * middle, 1))
        self.shortcut = nn.Identity()
        if stride > 1 or channels != 4 * middle:
            self.shortcut = nn.Sequential(*block(channels, 4 * middle, 1, stride))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def resnet50():
    parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for middle, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            parts.append(Bottleneck(channels, middle, stride if i == 0 else 1))
            channels = 4 * middle
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def mnist_mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def make(name, batch, device):
    """The model, a batch, the optimizer and whether its gradients are clipped."""
    if name == "gpt2":
        model = Gpt2().to(device)
        text = torch.randint(50257, (batch, 1025), device=device)
        optimizer = torch.optim.AdamW(model.parameters(), 6e-4, (0.9, 0.95), weight_decay=0.1, fused=True)
        return model, text[:, :-1].contiguous(), text[:, 1:].contiguous(), optimizer, True
    if name == "resnet50":
        model = resnet50().to(device, memory_format=torch.channels_last)
        images = torch.rand(batch, 3, 224, 224, device=device).contiguous(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9, weight_decay=1e-4, fused=True)
        return model, images, torch.randint(1000, (batch,), device=device), optimizer, False
    model = mnist_mlp().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9, fused=True)
    return model, torch.rand(batch, 28, 28, device=device), torch.randint(10, (batch,), device=device), optimizer, False


BATCH = {"mnist_mlp": 128, "gpt2": 16, "resnet50": 256}


def measure(name, options):
    torch.manual_seed(0)
    batch = options.batch or BATCH[name]
    model, inputs, wanted, optimizer, is_clipped = make(name, batch, options.device)
    precision = torch.bfloat16 if name != "mnist_mlp" else torch.float32

    def forward(x, y):
        with torch.autocast(options.device, precision, enabled=precision != torch.float32):
            logits = model(x)
        return F.cross_entropy(logits.flatten(0, -2).float(), y.flatten())

    if options.compile:
        forward = torch.compile(forward, mode="max-autotune" if name == "mnist_mlp" else None)

    def step():
        optimizer.zero_grad(set_to_none=True)
        forward(inputs, wanted).backward()
        if is_clipped:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    def wait():
        if options.device == "cuda":
            torch.cuda.synchronize()

    def time_steps(count):
        wait()
        begin = time.perf_counter()
        for _ in range(count):
            step()
        wait()
        return time.perf_counter() - begin

    time_steps(3)
    count = max(1, int(options.seconds / 5 / (time_steps(3) / 3)))
    seconds = min(time_steps(count) for _ in range(5)) / count
    return {"case": name, "peer": f"PyTorch {torch.__version__.split('+')[0]}" + (" compile" if options.compile else ""),
            "device": torch.cuda.get_device_name() if options.device == "cuda" else options.device,
            "microseconds": seconds * 1e6, "samples_per_second": batch / seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(BATCH), metavar="MODEL", help="of " + ", ".join(BATCH))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, help="instead of " + ", ".join(f"{b} ({m})" for m, b in BATCH.items()))
    parser.add_argument("--seconds", type=float, default=5, help="of steps for each (default 5)")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    options = parser.parse_args()
    if unknown := set(options.models) - set(BATCH):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(BATCH)}")
    for name in options.models:
        print(json.dumps(measure(name, options)), flush=True)


if __name__ == "__main__":
    main()
