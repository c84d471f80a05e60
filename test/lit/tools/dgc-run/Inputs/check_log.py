"""check_log.py LOG TRACE WORKERS: whether the log of three steps and one evaluation has the fields that are written
down in docs/data-and-results.md, and the trace a track for each worker and queue."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]
assert [line["event"] for line in lines] == ["step"] * 3 + ["end"], lines
for number, line in enumerate(lines[:3]):
    assert list(line) == ["event", "step", "epoch", "loss", "metrics", "ms", "samples_per_s", "rank"], line
    assert line["step"] == number and line["epoch"] == 0 and line["rank"] == 0, line
    assert 0 < line["loss"] < 10 and 0 <= line["metrics"]["accuracy"] <= 1, line
    assert abs(line["samples_per_s"] - 128 / line["ms"] * 1e3) < 1, line
assert lines[3] == {"event": "end", "step": 3, "rank": 0}, lines[3]

with open(sys.argv[2], encoding="utf-8") as file:
    events = json.load(file)
workers = int(sys.argv[3])
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert names == {rank: "worker %d" % rank for rank in range(workers)}, names
tracks = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
spans = [e for e in events if e["ph"] == "X"]
assert {(e["pid"], e["tid"]) for e in spans} == tracks, tracks
for pid, tid in tracks:
    mine = sorted((e["ts"], e["ts"] + e["dur"]) for e in spans if (e["pid"], e["tid"]) == (pid, tid))
    assert all(a[1] <= b[0] + 0.002 for a, b in zip(mine, mine[1:])), "spans of one queue overlap"
    assert {e["args"]["step"] for e in spans if e["pid"] == pid} == {0, 1, 2}
assert any(e["name"] == "all_reduce" for e in spans) == (workers > 1)
