"""What psutil takes for the numbers of a look: each process's CPU time, memory, start and I/O, and the machine's own.

Pids on standard input, apart by white space. Prints one line of JSON: `peer`, `processes`, `wall_usec` (the median
pass) and `cpu_usec` (the mean). psutil comes from PyPI into .cache, the first time.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import venv

SECONDS = 2
FOLDER = pathlib.Path(__file__).resolve().parents[2] / ".cache/bench/psutil"


def in_own_environment():
    """Runs this file again where psutil is installed, unless it is running there."""
    python = FOLDER / "bin/python"
    if pathlib.Path(sys.prefix) == FOLDER:
        return
    if not (FOLDER / "installed").exists():
        venv.create(FOLDER, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "psutil"], check=True, stdout=sys.stderr)
        (FOLDER / "installed").touch()
    os.execv(python, [str(python), *sys.argv])


def look(processes):
    import psutil

    for process in processes:
        # All of one process from one read of its files, as psutil advises.
        with process.oneshot():
            process.cpu_times()
            process.memory_info()
            process.create_time()
            process.io_counters()
    psutil.pids()
    psutil.virtual_memory()
    psutil.cpu_times()
    psutil.disk_io_counters()
    psutil.net_io_counters()
    [one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN]


def main():
    in_own_environment()
    import psutil

    pids = [int(pid) for pid in sys.stdin.read().split()]
    walls = []
    until = time.monotonic() + SECONDS
    # A process object remembers its start: a new one each pass, since a look can't trust the pid otherwise.
    look([psutil.Process(pid) for pid in pids])
    cpu_start = time.process_time()
    while time.monotonic() < until:
        start = time.perf_counter()
        look([psutil.Process(pid) for pid in pids])
        walls.append(time.perf_counter() - start)
    cpu = (time.process_time() - cpu_start) / len(walls)
    print(json.dumps({
        "peer": f"psutil {psutil.__version__}",
        "processes": len(pids),
        "wall_usec": round(statistics.median(walls) * 1e6, 1),
        "cpu_usec": round(cpu * 1e6, 1),
    }))


main()
