"""status_page.py [BROWSER] -- COMMAND...: the page of a job of two workers that runs: what it reads, and, where a browser is given,
what that shows of it."""

import html
import json
import re
import subprocess
import sys
import tempfile

from watched_job import Job

split = sys.argv.index("--")
browser = sys.argv[1] if split > 1 else None
job = Job(sys.argv[split + 1:])
url = job.address("status")
assert job.address("metrics") == url + "metrics" or job.address("metrics").endswith("/metrics")


def state():
    status, headers, text = job.get(url + "status.json")
    assert status == 200 and headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store" and "NaN" not in text
    found = json.loads(text)
    return found if found["step"] >= 60 and found["checkpoint"] and found["test_losses"] and all(
        worker["present"] and worker["memory_used"] and worker["waiting_share"] is not None for worker in found["workers"]) else None


found = job.until(state, "a state of the job")
assert found["phase"] in ("training", "evaluating") and found["last_step"] == 1000000 and found["first_step"] == 0, found
assert len(found["losses"]) >= 60 and found["losses"][0][0] <= 8 and found["losses"][-1][1] < found["losses"][0][1]
assert found["test_losses"][0][0] == 50 and set(found["metrics"]) == set(found["test_metrics"]) == {"accuracy"}
rates = [found[name] for name in ("samples_per_second", "steps_per_second", "exposed_share", "seconds_left")]
assert rates[0] > 0 and rates[1] > 0 and 0 <= rates[2] <= 1 and rates[3] > 0, rates
assert found["tokens_per_second"] is None and found["flops_per_second"] > 0 and 0 < found["share_of_peak"] < 2
assert found["checkpoint"]["count"] >= 1 and found["checkpoint"]["age"] >= 0 and found["checkpoint"]["failures"] == 0
assert [w["bytes_per_step"] for w in found["workers"]] == [{"all_reduce": 407088}] * 2
assert found["plan"]["model"] == "mnist_mlp" and ["mesh", "data=2"] in found["plan"]["options"]
assert "all_reduce sum over data" in found["plan"]["summary"]
print("read")


def draw(width):
    """The page as a browser has it after some seconds."""
    with tempfile.TemporaryDirectory() as profile:
        result = subprocess.run([browser, "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile, "--virtual-time-budget=4000",
                                 f"--window-size={width},1600", "--dump-dom", url],
                                capture_output=True, text=True, timeout=120, check=True)
    return html.unescape(result.stdout)


def cells(page, ident):
    body = re.search(rf'id="{ident}"[^>]*>(.*?)</(?:tbody|table)>', page, flags=re.DOTALL).group(1)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row, flags=re.DOTALL)]
            for row in re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)]


if browser:
    page = draw(1200)
    assert re.search(r'id="phase">(training|evaluating)<', page), page[:3000]
    assert re.search(r'<h1 id="model">mnist_mlp<', page)
    cards = dict(re.findall(r'<div class="card"><span>(.*?)</span><b>(.*?)</b>', page))
    assert {"loss", "accuracy", "test loss", "test accuracy", "samples/s", "exposed communication", "last checkpoint"} <= set(cards), cards
    assert cards["workers"] == "2 of 2" and 0 < float(cards["loss"]) < 10, cards
    rows = cells(page, "workers")
    assert [row[0] for row in rows] == ["0", "1"], rows
    assert all(row[1] in ("computes", "waits for 0", "waits for 1") and row[7] == "407 kB" for row in rows), rows
    assert ["mesh", "data=2"] in cells(page, "options")
    curve, = re.findall(r'<path d="(M[^"]*)"[^>]*stroke="var\(--blue\)"', page)
    assert curve.count("L") > 20, curve
    x = [float(point) for point in re.findall(r"[ML](\S+) ", curve)]
    assert x == sorted(x) and max(x) <= 1200
    # The picture has the width of its place.
    assert int(re.search(r'viewBox="0 0 (\d+) 280"', draw(400)).group(1)) < 400 < int(re.search(r'viewBox="0 0 (\d+) 280"', page).group(1))
    assert re.search(r'id="lost" style="display: none;"|id="lost"(?! style)', page)
    print("drawn")
print("code", job.stop())
