"""A job of dgc-run that is watched over HTTP while it runs, and ended when enough was seen."""

import atexit
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request


class Job:
    """Runs a command; `addresses` gets what it says that it serves, by the words before " at http://"."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        atexit.register(self.process.kill)
        self.addresses, self.lines = {}, []
        self.said = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stderr:
            with self.said:
                self.lines.append(line)
                match = re.match(r"dgc-run: (\w+) at (http://\S+)$", line)
                if match:
                    self.addresses[match.group(1)] = match.group(2)
                self.said.notify_all()
        with self.said:
            self.lines.append(None)
            self.said.notify_all()

    def address(self, name):
        with self.said:
            self.said.wait_for(lambda: name in self.addresses or None in self.lines, timeout=120)
            assert name in self.addresses, self.lines
            return self.addresses[name]

    def get(self, url, **headers):
        """Status, headers and text of an answer."""
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def until(self, look, what):
        """What look() gives as soon as that is something."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            assert self.process.poll() is None, (self.process.returncode, self.lines)
            time.sleep(0.05)
        raise AssertionError("waited in vain for " + what)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)
