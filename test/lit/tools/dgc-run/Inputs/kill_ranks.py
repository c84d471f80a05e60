"""Runs dgc-run, which starts local workers, and kills some of them, one after the other, each after some more steps, and with
--checkpoint after a checkpoint. The others have to keep their processes, and the log has to have every step, with the same loss each time.

kill_ranks.py RANKS -- COMMAND..: RANKS as 1,0,1+2, where the last two are killed at once. The command has --log-json FILE."""

import json
import os
import signal
import subprocess
import sys
import time

kills = [[int(rank) for rank in kill.split("+")] for kill in sys.argv[1].split(",")]
command = sys.argv[3:]
log = command[command.index("--log-json") + 1]
STEPS_BETWEEN = 5


def events():
    try:
        with open(log, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
    except OSError:
        return []
    return [json.loads(line) for line in lines]


def workers(parent):
    """The processes that it has started, by rank."""
    found = {}
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as children:
        for pid in children.read().split():
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
                    words = line.read().split("\0")
            except OSError:
                continue
            if "--rank" in words:
                found[int(words[words.index("--rank") + 1])] = int(pid)
    return found


def count(kind, restarts):
    """How many such events there were after so many restarts."""
    seen = found = 0
    for event in events():
        seen += event["event"] == "restart"
        found += event["event"] == kind and seen >= restarts
    return found


def may_be_disturbed(restarts):
    return count("step", restarts) >= STEPS_BETWEEN and ("--checkpoint" not in command or count("checkpoint", restarts) > 0)


job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
for number, ranks in enumerate(kills):
    while job.poll() is None and not may_be_disturbed(number):
        time.sleep(0.005)
    before = workers(job.pid)
    for rank in ranks:
        os.kill(before[rank], signal.SIGKILL)
    while job.poll() is None and count("step", number + 1) < 1:
        time.sleep(0.005)
    if job.poll() is not None:
        break
    after = workers(job.pid)
    for rank, pid in sorted(before.items()):
        if (after.get(rank) == pid) == (rank in ranks):
            print(f"rank {rank} was process {pid} and is {after.get(rank)}, after {ranks} were killed")
print(job.communicate(timeout=300)[0], end="")
losses, wrong = {}, 0
for event in events():
    if event["event"] == "step":
        wrong += losses.setdefault(event["step"], event["loss"]) != event["loss"]
print(f"{len(losses)} steps up to {max(losses)}, {wrong} with two losses, "
      f"{sum(event['event'] == 'restart' for event in events())} restarts, last event {events()[-1]['event']}")
print("code", job.returncode, flush=True)
