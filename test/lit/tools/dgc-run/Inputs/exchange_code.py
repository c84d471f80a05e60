"""exchange_code.py PLAN OBJECT CHANGED: puts another object in the place of a plan's machine code, with right digests."""

import hashlib
import json
import subprocess
import sys

plan, replacement, changed = sys.argv[1:]
with open(plan, "rb") as f:
    data = bytearray(f.read())
with open(replacement, "rb") as f:
    code = f.read()
described = json.loads(subprocess.run(["dgc-inspect", plan, "--json"], check=True, capture_output=True).stdout)
for section in described["sections"]:
    size, digest = section["bytes"], bytes.fromhex(section["digest"])
    at = data.find(b"\x7fELF")
    if at >= 0 and hashlib.sha256(data[at:at + size]).digest() == digest:
        break
else:
    sys.exit("exchange_code.py: no section with machine code")
if len(code) > size:
    sys.exit(f"exchange_code.py: the object has {len(code)} bytes, the code of the plan {size}")
data[at:at + size] = code + bytes(size - len(code))
where = data.index(digest)
data[where:where + 32] = hashlib.sha256(data[at:at + size]).digest()
where = data.index(bytes.fromhex(described["digest"]))
data[where:where + 32] = bytes(32)
data[where:where + 32] = hashlib.sha256(data).digest()
with open(changed, "wb") as f:
    f.write(data)
