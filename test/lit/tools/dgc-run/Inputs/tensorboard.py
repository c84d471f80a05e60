"""tensorboard.py [--plan] DIR LOG..: reads the event files of DIR as TensorBoard does, compares them with the logs of the same runs,
and prints what TensorBoard would show. The logs are those of the last files, in their order; files before need no log.

Nothing here is of dgc or of TensorBoard: records, checksums and messages are read by what is known of their format."""
import json
import math
import os
import re
import struct
import sys

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        size, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at:at + 8]), (path, at)
        record = data[at + 12:at + 12 + size]
        assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc(record), (path, at)
        yield record
        at += size + 16
    assert at == len(data), path


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def message(data):
    """The fields by their numbers, each a list."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(key & 7) or varint(data, at)
            value = data[at:at + size]
            assert len(value) == size, data
            at += size
        fields.setdefault(key >> 3, []).append(value)
    return fields


class Point:
    def __init__(self, wall, step, value):
        self.wall, self.step, self.value = wall, step, value


def read(path):
    """The step of the START, the texts, the nodes of the graph, and the points of each tag."""
    start, texts, nodes, points = None, {}, [], {}
    for number, record in enumerate(records(path)):
        event = message(record)
        wall, step = struct.unpack("<d", event[1][0])[0], event.get(2, [0])[0]
        assert abs(wall - os.path.getmtime(path)) < 300, (path, wall)
        assert (event.get(3) == [b"brain.Event:2"]) == (number == 0), (path, event)
        if 7 in event:
            assert number == 1 and message(event[7][0]) == {1: [1]}, (path, event)
            start = step
        for value in map(message, message(event[5][0]).get(1, []) if 5 in event else []):
            tag = value[1][0].decode()
            if 5 in value:
                points.setdefault(tag, []).append(Point(wall, step, histogram(value[5][0])))
            elif 2 in value:
                points.setdefault(tag, []).append(Point(wall, step, struct.unpack("<f", value[2][0])[0]))
            else:
                tensor, plugin = message(value[8][0]), message(message(value[9][0])[1][0])
                assert (number, step, plugin[1], tensor[1]) == (2 + len(texts), start, [b"text"], [7]), (path, event)
                texts[tag] = tensor[8][0].decode()
        if 4 in event:
            assert (number, step) == (2 + len(texts), start), (path, event)
            nodes = [message(node) for node in message(event[4][0])[1]]
    assert list(texts) == ["options", "plan"], texts
    return start, texts, nodes, points


def histogram(data):
    """The fields of a histogram, whose buckets have all values between their limits."""
    fields = message(data)
    least, most, count, total, squares = (struct.unpack("<d", fields.get(n, [bytes(8)])[0])[0] for n in range(1, 6))
    limits, buckets = ([x for x, in struct.iter_unpack("<d", fields[n][0])] for n in (6, 7))
    assert limits == sorted(set(limits)) and len(limits) == len(buckets) and sum(buckets) == count > 0, fields
    filled = [limit for limit, bucket in zip(limits, buckets) if bucket]
    assert limits[0] <= least <= filled[0] and filled[-1] >= most > (filled[-2] if len(filled) > 1 else limits[0]) - 1e-12, fields
    return {"min": least, "max": most, "count": count, "sum": total, "squares": squares}


def check_graph(nodes):
    """Names are unique, and every input is a node that is there."""
    names = [node[1][0].decode() for node in nodes]
    assert len(set(names)) == len(names) and names, names
    before = set()
    for node, name in zip(nodes, names):
        inputs = [each.decode() for each in node.get(3, [])]
        assert set(inputs) <= before, (name, inputs)
        before.add(name)
    variables = [name for name in names if "variables/" in name]
    used = {each.decode() for node in nodes for each in node.get(3, [])}
    assert variables and set(variables) <= used, set(variables) - used
    return f"graph of {len(names)} nodes, {sum(len(node.get(3, [])) for node in nodes)} edges"


def same(a, b):
    """Whether a number of the log, null where it is not finite, is this f32."""
    return not math.isfinite(b) if a is None else struct.pack("<f", a) == struct.pack("<f", b)


def scalars(event):
    numbers = {"loss": event["loss"]} if "loss" in event else {}
    numbers.update((n, v) for n, v in event.get("metrics", {}).items() if not isinstance(v, list))
    return numbers


def compare_means(group, events, points):
    """One point for each event, and no other."""
    found = sorted((tag, p.step, p.value) for tag in points if tag.startswith(group) for p in points[tag])
    expected = sorted((group + name, event["step"], value) for event in events for name, value in scalars(event).items())
    assert [f[:2] for f in found] == [e[:2] for e in expected], (group, found, expected)
    assert all(same(e[2], f[2]) for f, e in zip(found, expected)), (group, found, expected)


def compare_steps(log, points):
    """Each point is a step of the log; the steps that have none are those within 100 ms, and what a busy machine adds."""
    steps = [event for event in log if event["event"] == "step"]
    ends = set()  # the last step before something else
    marks = [event for event in log if event["event"] in ("step", "epoch", "evaluate", "end", "error")]
    for before, event in zip(marks, marks[1:]):
        if before["event"] == "step" and event["event"] != "step":
            ends.add(before["step"] + 1)
    written = {p.step: p for p in points["train/loss"]}
    assert len(written) == len(points["train/loss"]) and ends <= set(written), (ends, written)
    assert steps[0]["step"] + 1 in written, written
    samples = ms = skipped = 0
    last = None
    for event in steps:
        step = event["step"] + 1
        samples, ms = samples + event["samples_per_s"] * event["ms"] / 1e3, ms + event["ms"]
        if step not in written:
            skipped += event["ms"]
            assert skipped < 500, (step, skipped)
            continue
        wall = written[step].wall
        assert last is None or step in ends or wall - last > 0.05, (step, wall - last)
        for name, value in scalars(event).items():
            [point] = [p for p in points["train/" + name] if p.step == step]
            assert same(value, point.value), (step, name, value, point.value)
        [rate] = [p.value for p in points["train/samples_per_second"] if p.step == step]
        assert abs(rate - samples / ms * 1e3) < 1e-4 * rate, (step, rate, samples, ms)
        samples = ms = skipped = 0
        last = wall


shows_plan = sys.argv[1] == "--plan"
folder, logs = sys.argv[1 + shows_plan], sys.argv[2 + shows_plan:]
names = sorted(os.listdir(folder))
shown = {}
for index, name in enumerate(names):
    assert re.fullmatch(r"events\.out\.tfevents\.\d{10}\..+\.\d+\.\d+\.dgc", name), name
    first, texts, nodes, points_of = read(os.path.join(folder, name))
    if index >= len(names) - len(logs):
        with open(logs[index - len(names) + len(logs)], encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        compare_means("epoch/", [line for line in lines if line["event"] == "epoch"], points_of)
        compare_means("test/", [line for line in lines if line["event"] == "evaluate"], points_of)
        compare_steps(lines, points_of)
    print("file", index, "start", first)
    print(texts["options"], end="")
    graph = check_graph(nodes)
    if shows_plan:
        print(texts["plan"], end="")
        print(graph)
    shown = {tag: [p for p in shown[tag] if p.step < first] for tag in shown}
    for tag, points in points_of.items():
        shown.setdefault(tag, []).extend(points)
for tag, points in sorted(shown.items()):
    steps_of = [p.step for p in points]
    assert steps_of == sorted(set(steps_of)), (tag, steps_of)
    if isinstance(points[-1].value, dict):
        print("at", *steps_of, end=" ")
    print(tag, "" if tag.startswith("train/") else f"{len(steps_of)} points", "up to", steps_of[-1])
