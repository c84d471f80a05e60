"""real_tensorboard.py DIR: what the package tensorboard itself reads in a folder: numbers, histograms, texts, the graph."""

import sys

sys.path.pop(0)  # a module of this folder has the same name
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

board = EventAccumulator(sys.argv[1], size_guidance={name: 0 for name in ("scalars", "histograms", "tensors", "compressedHistograms")})
board.Reload()
tags = board.Tags()
for tag in tags["scalars"]:
    steps = [event.step for event in board.Scalars(tag)]
    assert steps and steps == sorted(set(steps)), (tag, steps)
    print("scalars", tag, "up to", steps[-1])
for tag in tags["histograms"]:
    events = board.Histograms(tag)
    steps = [event.step for event in events]
    assert steps == sorted(set(steps)), (tag, steps)
    for event in events:
        value = event.histogram_value
        assert value.num == sum(value.bucket) > 0 and list(value.bucket_limit) == sorted(value.bucket_limit), (tag, value)
        assert value.min <= value.max and value.sum_squares >= 0, (tag, value)
    print("histograms", tag, "at", *steps)
for tag in tags["tensors"]:
    tensors = board.Tensors(tag)
    plugin = board.SummaryMetadata(tag).plugin_data.plugin_name
    assert plugin == "text" and all(each.tensor_proto.string_val[0].decode() for each in tensors), (tag, plugin)
    print("text", tag)
graph = board.Graph()
names = {node.name for node in graph.node}
assert len(names) == len(graph.node) and all(each in names for node in graph.node for each in node.input)
print("graph of", len(names), "nodes, with", *sorted(name for name in names if "variables/" in name))
