"""check_flows.py TRACE WORKERS: whether the arrows of a trace lead from each send to its receive, all of them, and no receive ends
before its send began. Prints how many there are, and by how much clocks were moved."""

import collections
import json
import sys

MICROSECOND = 1.0


def check(events, workers):
    spans = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0, event
            spans[event["pid"], event["tid"]].append(event)
    assert {pid for pid, _ in spans} == set(range(workers))

    def around(end):
        """The span that an end of an arrow is in; times have three digits behind the point."""
        found = [span for span in spans[end["pid"], end["tid"]] if span["ts"] - 0.002 <= end["ts"] <= span["ts"] + span["dur"] + 0.002
                 and ("send" in span["name"]) == (end["ph"] == "s") and ("receive" in span["name"]) == (end["ph"] == "f")]
        assert found, end
        return found[0]

    arrows = collections.defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in arrows[event["id"]], event
            arrows[event["id"]][event["ph"]] = event
    sent, received = set(), set()
    for ends in arrows.values():
        assert set(ends) == {"s", "f"} and ends["f"]["bp"] == "e", ends
        assert ends["s"]["pid"] != ends["f"]["pid"], ends
        send, receive = around(ends["s"]), around(ends["f"])
        sent.add((send["pid"], send["ts"]))
        received.add((receive["pid"], receive["ts"]))
        assert send["args"]["step"] == receive["args"]["step"], (send, receive)
        assert receive["ts"] + receive["dur"] + 0.002 >= send["ts"], (send, receive)
        assert ends["s"]["ts"] <= ends["f"]["ts"] + 0.002, ends
    # A send may go to several receivers, and what is received come from several senders.
    for ends, word in ((sent, "send"), (received, "receive")):
        named = {(span["pid"], span["ts"]) for all_spans in spans.values() for span in all_spans if word in span["name"]}
        assert ends == named != set(), (word, ends ^ named)
    return len(arrows)


with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
count = check(trace, int(sys.argv[2]))
# What the check is for: the same events with a clock that is wrong by a second.
for event in trace:
    if event["pid"] == 1 and "ts" in event:
        event["ts"] += 1e6
try:
    check(trace, int(sys.argv[2]))
    sys.exit("a wrong clock is not noticed")
except AssertionError:
    pass
labels = [event["args"]["labels"] for event in trace if event["name"] == "process_labels"]
print(count, "arrows", *labels)
