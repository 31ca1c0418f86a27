"""What psutil says of a process and all below it, as JSON: `{"pss", "rss", "cpu", "read", "written", "pids", "ports"}`.

`python psutil_look.py PID`; bytes and seconds, added up. psutil's own tests hold it to the kernel; here it holds ours.
"""

import json
import sys
import warnings

import psutil

warnings.simplefilter("ignore", DeprecationWarning)

main = psutil.Process(int(sys.argv[1]))
processes = [main, *main.children(recursive=True)]
total = {"pss": 0, "rss": 0, "cpu": 0.0, "read": 0, "written": 0}
ports = set()
for process in processes:
    memory, cpu, disk = process.memory_full_info(), process.cpu_times(), process.io_counters()
    total["pss"] += memory.pss
    total["rss"] += memory.rss
    # Children that ended and were waited for are part of what the agent used.
    total["cpu"] += cpu.user + cpu.system + cpu.children_user + cpu.children_system
    total["read"] += disk.read_bytes
    total["written"] += disk.write_bytes
    ports |= {each.laddr.port for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN}
print(json.dumps({**total, "pids": sorted(process.pid for process in processes), "ports": len(ports)}))
