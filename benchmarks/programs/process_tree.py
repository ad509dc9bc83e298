"""What a program and all processes below it use: processor seconds and memory; for programs that measure themselves."""

import os


def own_processes():
    """The numbers of this process and of all below it, with the fields of their `stat`."""
    fields = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    fields[int(name)] = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
    own, size = {os.getpid()}, 0
    while len(own) != size:
        size = len(own)
        own |= {pid for pid, words in fields.items() if int(words[1]) in own}
    return {pid: fields[pid] for pid in own if pid in fields}


def cpu_s():
    """Processor seconds, those of processes that have ended included."""
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(sum(map(int, words[11:15])) for words in own_processes().values()) / ticks


def peak_memory(is_over, peaks):
    """Until it is over: the most megabytes that the largest Python process and all Java had, under `python`, `java`."""
    while not is_over.wait(0.3):
        sizes = {"python": 0, "java": 0}
        for pid in own_processes():
            try:
                with open(f"/proc/{pid}/smaps_rollup") as rollup:
                    megabytes = sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024
                is_java = os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "java"
            except OSError:
                continue
            name = "java" if is_java else "python"
            sizes[name] = sizes[name] + megabytes if is_java else max(sizes[name], megabytes)
        for name, megabytes in sizes.items():
            peaks[name] = max(peaks.get(name, 0), megabytes)
