"""scrape.py DOCS -- COMMAND...: scrapes the metrics of a job of two workers that takes checkpoints while it runs, and checks
their text by the parser of Prometheus' own client, and by the rules of the format that this one does not check. DOCS is the
page that names all metrics."""

import re
import sys

from prometheus_client.parser import text_string_to_metric_families
from watched_job import Job

NAME = re.compile(r"[a-z][a-z0-9_]*$")
UNITS = ("_seconds", "_bytes", "_total", "_info")


def strict(text):
    """The families by name, as the parser reads them, and the samples by name and labels."""
    assert text.endswith("\n") and "\r" not in text
    helped, typed, begun = set(), {}, []
    for line in text.splitlines():
        assert line.strip() == line and line, repr(line)
        words = line.split(" ", 3)
        if line.startswith("# HELP "):
            assert words[2] not in helped and len(words[3]) > 3, line
            helped.add(words[2])
        elif line.startswith("# TYPE "):
            assert words[2] in helped and words[2] not in typed, line
            typed[words[2]] = words[3]
            begun.append(words[2])
        else:
            assert not line.startswith("#"), line
            name = re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*", line).group()
            family = begun[-1]
            suffix = name[len(family):]
            assert name.startswith(family), (line, family)
            assert suffix in (("_bucket", "_sum", "_count") if typed[family] == "histogram" else ("",)), line
    families, samples = {}, {}
    for family in text_string_to_metric_families(text):
        assert family.name not in families and family.samples and family.documentation, family
        families[family.name] = family
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in samples, key
            samples[key] = sample.value
    for name, kind in typed.items():
        assert NAME.match(name) and (kind == "counter") == name.endswith("_total"), (name, kind)
    for family in families.values():
        if family.type == "histogram":
            check_histogram(family)
    return typed, samples


def check_histogram(family):
    buckets = [(float(s.labels["le"]), s.value) for s in family.samples if s.name.endswith("_bucket")]
    assert buckets == sorted(buckets) and buckets[-1][0] == float("inf"), buckets
    assert all(a[1] <= b[1] for a, b in zip(buckets, buckets[1:])), buckets
    count, = [s.value for s in family.samples if s.name.endswith("_count")]
    assert count == buckets[-1][1], (count, buckets)


def rejects(text):
    try:
        strict(text)
    except (AssertionError, ValueError, AttributeError, IndexError):
        return True
    return False


# What the checks are for.
GOOD = '# HELP a_total Some text\n# TYPE a_total counter\na_total{x="1"} 2\n'
strict(GOOD)
for wrong in (GOOD.replace("# HELP a_total Some text\n", ""), GOOD + 'a_total{x="1"} 2\n', GOOD.replace(" 2", " two"),
              GOOD.replace('"1"', '"1'), GOOD.replace("a_total{", "a_sum{"), GOOD[:-1], GOOD.replace("counter", "gauge")):
    assert rejects(wrong), wrong

job = Job(sys.argv[3:])
url = job.address("metrics")
assert re.match(r"http://127\.0\.0\.1:[1-9]\d*/metrics$", url), url


def scrape():
    status, headers, text = job.get(url)
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", headers
    return strict(text)


def enough():
    typed, samples = scrape()
    has_all = ("dgc_checkpoint_age_seconds", ()) in samples and samples["dgc_steps_total", ()] >= 40
    return has_all and samples["dgc_exposed_communication_seconds_total", (("worker", "1"),)] > 0 and (typed, samples)


typed, first = job.until(enough, "steps, a checkpoint and the figures of rank 1")
_, second = job.until(lambda: (lambda found: found[1]["dgc_steps_total", ()] > first["dgc_steps_total", ()] and found)(scrape()),
                      "more steps")
documented = set(re.findall(r"^\| `(dgc_\w+)` ", open(sys.argv[1], encoding="utf-8").read(), flags=re.MULTILINE))
assert set(typed) <= documented, set(typed) - documented
missing = documented - set(typed)
assert missing == {"dgc_tokens_total", "dgc_test_loss", "dgc_test_metric"}, missing

for (name, labels), value in first.items():
    if name.endswith(("_total", "_count", "_sum", "_bucket")):
        assert second[name, labels] >= value, (name, labels)
steps = second["dgc_steps_total", ()]
assert second["dgc_samples_total", ()] == 128 * steps and second["dgc_step_seconds_count", ()] == steps
assert second["dgc_step", ()] == steps and second["dgc_last_step", ()] == 1e6 and second["dgc_loss", ()] > 0
assert second["dgc_workers", ()] == second["dgc_workers_present", ()] == 2
assert second["dgc_checkpoint_step", ()] % 20 == 0 and second["dgc_checkpoint_duration_seconds", ()] > 0
for worker in "01":
    def of(name, **labels):
        return second[name, tuple(sorted({"worker": worker, **labels}.items()))]
    # What the plan says: one all-reduce of all gradients in a step.
    for direction in ("sent", "received"):
        assert of("dgc_communication_bytes_total", kind="all_reduce", direction=direction) == 407088 * steps
    # Variables, gradients and what is between them: no more than was planned, and most of that.
    assert 814160 < of("dgc_memory_used_bytes") <= of("dgc_memory_planned_bytes") < 2 * of("dgc_memory_used_bytes")
    assert of("dgc_process_resident_bytes") > of("dgc_memory_used_bytes")
    assert of("dgc_exposed_communication_seconds_total") > 0 and of("dgc_stragglers_total") == 0
    assert of("dgc_worker_heartbeats_total", state="computing") + of("dgc_worker_heartbeats_total", state="waiting") > 0
base = url.rsplit("/", 1)[0]
assert job.get(base + "/nosuch")[0] == 404 and job.get(url + "/below")[0] == 404
assert job.get(url, Host="evil.example:80")[0] == 403 and job.get(url, Host="localhost:1")[0] == 200
print("code", job.stop(), "after some steps")
