"""same_outputs.py PLAN..: pairs of jobs with the same --save at the same time. The file is always that of a job that said
"saved", as a whole; a job that did not write it says so and ends with 4; and nothing else is left in the folder."""

import os
import subprocess
import sys


def start(plan, seed, path):
    return subprocess.Popen(["dgc-run", plan, "--steps", "0", "--seed", str(seed), "--save", path],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read(path):
    with open(path, "rb") as file:
        return file.read()


for plan in sys.argv[1:]:
    weights = {}
    for seed in (1, 2):
        assert start(plan, seed, "reference").wait() == 0
        weights[seed] = read("reference")
    assert weights[1] != weights[2]
    os.makedirs("pairs", exist_ok=True)
    refused = 0
    for _ in range(12):
        jobs = {seed: start(plan, seed, "pairs/weights") for seed in (1, 2)}
        outputs = {seed: job.communicate()[0] for seed, job in jobs.items()}
        winners = [seed for seed, job in jobs.items() if job.returncode == 0]
        assert winners, outputs
        for seed, job in jobs.items():
            if seed in winners:
                assert "saved 8 variables to pairs/weights" in outputs[seed], outputs
            else:
                refused += 1
                # The other may not have written yet who it is.
                assert job.returncode == 4 and "another job" in outputs[seed], (job.returncode, outputs)
        assert read("pairs/weights") in [weights[seed] for seed in winners]
        assert os.listdir("pairs") == ["weights"], os.listdir("pairs")
    print(plan, "refused", refused)
