"""Sets uprobes as another tracer does, through perf_event_open(2)."""
import ctypes, os, pathlib, struct

from harness import Skip

PERF_EVENT_OPEN = 298  # x86-64

class Uprobe:
    """A uprobe or uretprobe at an offset in a file, in one process. It exists until close() or the end of a with
    block."""
    def __init__(self, path, offset, pid, at_return=False):
        source = pathlib.Path("/sys/bus/event_source/devices/uprobe/type")
        if not source.exists():
            raise Skip("the kernel has no uprobes for perf_event_open")
        self.path = ctypes.create_string_buffer(os.fsencode(path))
        # struct perf_event_attr up to config2 (size 72): type, size, config, sample_period, sample_type, read_format,
        # flags, wakeup_events, bp_type, config1 (uprobe_path), config2 (probe_offset)
        attr = struct.pack("<IIQQQQQIIQQ", int(source.read_text()), 72, int(at_return), 0, 0, 0, 0, 0, 0,
                           ctypes.addressof(self.path), offset)
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.syscall(PERF_EVENT_OPEN, attr, pid, -1, -1, 8)  # PERF_FLAG_FD_CLOEXEC
        if self.fd < 0:
            error = ctypes.get_errno()
            raise Skip(f"no uprobes can be set here ({os.strerror(error)})")

    def count(self):
        """Returns how often the uprobe has been hit."""
        return struct.unpack("<Q", os.read(self.fd, 8))[0]

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.close()
