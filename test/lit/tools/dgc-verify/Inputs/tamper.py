"""tamper.py PLAN WHAT CHANGED: changes a byte of a plan, and gives the file a right digest.

WHAT: a text in the plan, whose first letter becomes a capital; or `record`: the digest of the model in the record.
"""

import hashlib
import json
import subprocess
import sys

plan, what, changed = sys.argv[1:]
data = bytearray(open(plan, "rb").read())
described = json.loads(subprocess.run(["dgc-inspect", plan, "--json"], check=True, capture_output=True).stdout)
digest = data.index(bytes.fromhex(described["digest"]))
if what == "record":
    data[data.index(bytes.fromhex(described["verified"]["model"]))] ^= 1
else:
    at = data.index(what.encode())
    data[at:at + 1] = data[at:at + 1].upper()
data[digest:digest + 32] = bytes(32)
data[digest:digest + 32] = hashlib.sha256(data).digest()
open(changed, "wb").write(data)
