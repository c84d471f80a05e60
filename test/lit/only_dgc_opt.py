"""A lit test format that takes only the tests that run dgc-opt. In a module of its own because lit sends
formats to its worker processes by name."""

import lit.formats


class OnlyDgcOpt(lit.formats.ShTest):
    def getTestsForPath(self, testSuite, path_in_suite, litConfig, localConfig):
        for test in super().getTestsForPath(testSuite, path_in_suite, litConfig, localConfig):
            if runs_dgc_opt(test.getSourcePath()):
                yield test


def runs_dgc_opt(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return any("RUN:" in line and "dgc-opt" in line for line in f)
