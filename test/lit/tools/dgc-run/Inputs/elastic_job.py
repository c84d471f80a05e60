"""Runs an elastic job whose processes are started here, and lets some die and others join, each after some more steps.

elastic_job.py WORLD ACTIONS -- COMMAND..: ACTIONS as kill1,join,kill2: the process that was started as number 1, counted from 0, is
killed, or one more is started (join-without-data: one that cannot take part). COMMAND has --log-json FILE, and gets --coordinator, and --rank and --world-size for the first ones.
Prints what process 0 prints, the numbers of workers that the log tells of, and the codes of the processes that were not killed."""

import json
import re
import signal
import socket
import subprocess
import sys
import time

world, actions, command = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[4:]
log = command[command.index("--log-json") + 1]
STEPS_BETWEEN = 5
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    meeting = f"127.0.0.1:{free.getsockname()[1]}"


def events():
    try:
        with open(log, encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().split("\n")[:-1]]
    except OSError:
        return []


def steps_since(changes):
    """The steps after so many changes of the job."""
    seen = found = 0
    for event in events():
        seen += event["event"] == "restart"
        found += event["event"] == "step" and seen >= changes
    return found


def start(*flags, command=command):
    number = len(processes)
    first = number == 0
    output = subprocess.PIPE if first else open(f"{log}.{number}.txt", "w", encoding="utf-8")
    processes.append(subprocess.Popen([*command, "--coordinator", meeting, *flags], stdout=output,
                                      stderr=subprocess.STDOUT, text=True))


processes, killed = [], set()
for rank in range(world):
    start("--rank", str(rank), "--world-size", str(world))
for number, action in enumerate(actions):
    while processes[0].poll() is None and steps_since(number) < STEPS_BETWEEN:
        time.sleep(0.005)
    if processes[0].poll() is not None:
        break
    if action == "join":
        start()
    elif action == "join-without-data":
        start(command=["nowhere" if word == command[command.index("--data") + 1] else word for word in command])
    else:
        killed.add(int(action.removeprefix("kill")))
        processes[int(action.removeprefix("kill"))].send_signal(signal.SIGKILL)
print(processes[0].communicate(timeout=300)[0], end="")
sizes = [re.search(r"goes on with (\d+) worker", event["message"])[1] for event in events() if event["event"] == "restart"]
steps = {event["step"] for event in events() if event["event"] == "step"}
print(f"{len(steps)} steps up to {max(steps)}, by {world} workers, then {', '.join(sizes)}")
for number, process in enumerate(processes):
    if number not in killed:
        print("process", number, "code", process.wait(timeout=60))
