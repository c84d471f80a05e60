#!/usr/bin/python3
"""Runs every test of a build: GoogleTest programs through CTest, then the lit tests, as written and with
round-trip verification. Shows the output of those that fail, ends in `N passed, N failed`.

usage: run_tests.py [--unit-timeout=SECONDS] BUILD_DIR [OTHER_BUILD_DIR UNIT_TEST...]
Ends a GoogleTest program that takes longer (default: 600). Runs and counts these of another build as well.
Exit status 0 only if at least one test ran, in each of the kinds that the build has, and none failed.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

LIT = "/usr/lib/llvm-22/bin/lit"
CORES = len(os.sched_getaffinity(0))
# Many lit tests start processes that wait for each other, or for a time limit.
JOBS = str(2 * CORES)
# For CTest a test takes two of these, one that only waits takes one (dgc_test_waits).
CTEST_JOBS = str(2 * CORES + 1)


def run_unit_tests(build, out, timeout, names=()):
    """Counts single GoogleTest tests, of all programs or of those that are named; a program that dies without a report
    is one failure."""
    os.makedirs(out)
    counts = collections.Counter()
    junit = os.path.join(out, "ctest.xml")
    env = dict(os.environ, GTEST_OUTPUT=f"json:{out}/", GTEST_COLOR="no")
    subprocess.run(
        ["ctest", "--test-dir", build, "-j", CTEST_JOBS, "--timeout", timeout,
         "--output-junit", junit, "--quiet", "--no-tests=ignore"]
        + (["-R", f"^({'|'.join(names)})$"] if names else []),
        env=env, stdin=subprocess.DEVNULL, check=False)
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        name, ok = case.get("name"), case.get("status") == "run"
        try:
            with open(os.path.join(out, name + ".json"), encoding="utf-8") as f:
                report = json.load(f)
        except (OSError, ValueError):
            report = None
        failed_before = counts["failed"]
        if report:
            for suite in report["testsuites"]:
                for test in suite["testsuite"]:
                    counts[outcome(test)] += 1
        if not ok and counts["failed"] == failed_before:
            counts["failed"] += 1
        if counts["failed"] > failed_before:
            print(f"FAILED unit test program {name}", flush=True)
            print((case.findtext("system-out") or "").strip(), flush=True)
        elif not report:
            counts["passed"] += 1
    return counts


def outcome(test):
    if test.get("failures"):
        return "failed"
    if test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN":
        return "skipped"
    return "passed"


def run_lit(build, out, roundtrip):
    """Counts lit tests; lit shows the output of the failing ones itself."""
    report = os.path.join(out, "lit-roundtrip.json" if roundtrip else "lit.json")
    env = dict(os.environ)
    env.pop("DGC_OPT_ROUNDTRIP", None)
    if roundtrip:
        env["DGC_OPT_ROUNDTRIP"] = "1"
    status = subprocess.run(
        ["/usr/bin/python3", LIT, "-qv", "-j", JOBS, "--allow-empty-runs", "-o", report,
         os.path.join(build, "test/lit")],
        env=env, stdin=subprocess.DEVNULL, check=False).returncode
    counts = collections.Counter()
    try:
        with open(report, encoding="utf-8") as f:
            tests = json.load(f)["tests"]
    except (OSError, ValueError):
        tests = []
    for test in tests:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            counts["passed"] += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            counts["skipped"] += 1
        else:
            counts["failed"] += 1
    if status != 0 and not counts["failed"]:
        print(f"FAILED lit itself, with status {status}", flush=True)
        counts["failed"] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--unit-timeout", default="600")
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("other", type=os.path.abspath, nargs="?")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    build = args.build
    out = os.path.join(build, "test-results")
    shutil.rmtree(out, ignore_errors=True)

    total = run_unit_tests(build, out, args.unit_timeout)
    if os.path.exists(os.path.join(build, "test/lit/lit.site.cfg.py")):
        total += run_lit(build, out, roundtrip=False)
        total += run_lit(build, out, roundtrip=True)
    if args.names:
        total += run_unit_tests(args.other, os.path.join(out, "other"), args.unit_timeout, args.names)

    if total["skipped"]:
        print(f"{total['skipped']} skipped, as this machine does not have what they need")
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 0 if total["passed"] and not total["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
