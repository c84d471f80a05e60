"""What an editor writes to a language server: open this file, shut down."""

import json
import sys


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


with open(sys.argv[1], encoding="utf-8") as f:
    text = f.read()
send({"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}})
document = {"uri": "file:///model.mlir", "languageId": "mlir", "version": 1, "text": text}
send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
send({"id": 1, "method": "shutdown"})
send({"method": "exit"})
