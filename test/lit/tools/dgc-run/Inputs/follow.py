"""Trains by a command, while two other jobs follow its checkpoints: by --follow, and as the evaluator of TF_CONFIG.

follow.py -- COMMAND.."""
import json
import os
import subprocess
import sys

command = sys.argv[2:]
folder = command[command.index("--checkpoint") + 1]
data = command[command.index("--data") + 1]
config = json.dumps({"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "evaluator", "index": 0}})
followers = [
    ("follow", command[:2] + ["--data", data, "--transport", "in-process", "--follow", folder], {}),
    ("evaluator", command, {"TF_CONFIG": config}),
]
running = [(name, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, **more})) for name, words, more in followers]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
for name, job in running:
    output = job.communicate(timeout=100)[0]
    print(name, job.returncode)
    print(output, end="")
