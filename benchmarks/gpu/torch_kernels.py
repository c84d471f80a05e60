#!/usr/bin/env python3
"""Times memory-bound operations in PyTorch with torch.compile: one line of JSON for each, with the bytes that they move at
least. The first is a plain copy on the device, which is what the others are compared with.

  torch_kernels.py                  at 32768 x 1024 ("small") and at 1 GiB ("large"), f32 and bf16, on the GPU
  torch_kernels.py --rows 64 --device cpu --no-compile     to look at the script without one
"""

import argparse
import json
import time

import torch
from torch.nn import functional as F


def operations(rows, columns, dtype, device):
    """name -> (function, arguments, bytes that are read and written)"""
    def tensor(*shape, type=dtype):
        return torch.randn(*shape, device=device).to(type)

    x = tensor(rows, columns)
    scale, offset = tensor(columns), tensor(columns)
    labels = torch.randint(columns, (rows,), device=device)
    weights, first = (tensor(rows, columns, type=torch.float32) for _ in range(2))
    gradient = tensor(rows, columns)
    second = weights.square()
    target = torch.empty_like(x)
    size = x.numel() * x.element_size()

    def adamw(w, g, m, v):
        g = g.float()
        m.lerp_(g, 0.1)
        v.mul_(0.95).addcmul_(g, g, value=0.05)
        w.mul_(1 - 1e-5).addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-4)

    return {
        "copy": (lambda a: target.copy_(a), (x,), 2 * size),
        "softmax": (lambda a: torch.softmax(a, -1), (x,), 2 * size),
        "layer_norm": (lambda a, s, o: F.layer_norm(a, (columns,), s, o), (x, scale, offset), 2 * size),
        "gelu_chain": (lambda a: F.gelu(a * 1.5 + 0.5, approximate="tanh") * a, (x,), 2 * size),
        "cross_entropy": (lambda a, y: F.cross_entropy(a.float(), y), (x, labels), size),
        "adamw": (adamw, (weights, gradient, first, second), 6 * weights.numel() * 4 + size),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="of 1024 columns, instead of the two sizes")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    options = parser.parse_args()
    def wait():
        if options.device == "cuda":
            torch.cuda.synchronize()

    cases = [("small", 32768, torch.float32), ("small", 32768, torch.bfloat16),
             ("large", 2**18, torch.float32), ("large", 2**19, torch.bfloat16)]
    for size, rows, dtype in cases:
        what = f"{size}_{'f32' if dtype == torch.float32 else 'bf16'}"
        for name, (function, arguments, moved) in operations(options.rows or rows, 1024, dtype, options.device).items():
            if options.compile and name != "copy":
                function = torch.compile(function)
            with torch.no_grad():
                for _ in range(3):
                    function(*arguments)
                best = float("inf")
                for _ in range(5):
                    wait()
                    begin = time.perf_counter()
                    for _ in range(20):
                        function(*arguments)
                    wait()
                    best = min(best, (time.perf_counter() - begin) / 20)
            print(json.dumps({"case": f"{name} {what}", "peer": f"PyTorch {torch.__version__.split('+')[0]}",
                              "microseconds": best * 1e6, "gigabytes_per_second": moved / best * 1e-9}), flush=True)


if __name__ == "__main__":
    main()
