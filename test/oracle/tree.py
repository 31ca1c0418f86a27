"""A small tree for two programs to look at: memory that is shared, time and disk bytes used, ports, an ended child.

`python tree.py FOLDER` makes it, prints `ready`, and then does nothing until its input ends.
"""

import os
import pathlib
import socket
import sys
import time

MIB = 1 << 20


def burn(seconds):
    while time.process_time() < seconds:
        pass


def fork(body):
    pid = os.fork()
    if pid == 0:
        body()
        os._exit(0)
    return pid


shared = b"x" * (192 * MIB)
four = socket.create_server(("127.0.0.1", 0))
six = socket.create_server(("::1", 0), family=socket.AF_INET6) if socket.has_dualstack_ipv6() else None
os.waitpid(fork(lambda: burn(0.2)), 0)
ready, tell = os.pipe()


def child():
    own = b"y" * (32 * MIB)
    burn(0.1)
    os.write(tell, b"x")
    # Ends with its parent: nobody else can write to this input.
    sys.stdin.read()
    del own


fork(child)
os.read(ready, 1)
with open(pathlib.Path(sys.argv[1]) / "file", "wb") as file:
    file.write(b"z" * (8 * MIB))
    file.flush()
    os.fsync(file.fileno())
print("ready", flush=True)
sys.stdin.read()
