"""watch_threads.py COMMAND...: whether the page of a job whose workers are threads knows each of them."""

import json
import sys

from watched_job import Job

job = Job(sys.argv[1:])
url = job.address("status")


def state():
    found = json.loads(job.get(url + "status.json")[2])
    return found["step"] > 20 and all(w["present"] and w["step"] > 0 and w["exposed_seconds"] > 0 and w["resident"]
                                      for w in found["workers"]) and found


found = job.until(state, "both workers")
assert len(found["workers"]) == 2 and found["phase"] == "training"
print("both workers at work")
assert job.stop() == 130
