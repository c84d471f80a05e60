"""same_curve.py A.json B.json: whether two logs have the same losses and metrics, bit by bit: of each step, epoch and evaluation, the
last time that it is there."""

import json
import sys


def curve(path):
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event["event"] in ("step", "epoch", "evaluate"):
                found[event["event"], event["step"]] = (event.get("epoch"), event.get("loss"), event.get("metrics"))
    return found


first, second = (curve(path) for path in sys.argv[1:])
assert first and first.keys() == second.keys(), first.keys() ^ second.keys()
assert {kind for kind, step in first} == {"step", "epoch", "evaluate"}
for key, value in first.items():
    assert second[key] == value, (key, value, second[key])
