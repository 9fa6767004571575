#!/usr/bin/env python3
"""Limits of the kernel module: pages that it does not wait for, memory, strings, chill(), registers of devices."""
import lzma, re

from machines import *

@script("""
dtrace -qA -n 'fbt::version_proc_show:entry { @ = count(); }'
rmmod dtrace; insmod dtrace.ko
held_pages claim
dtrace -A
""")
def threads_that_waited_for_a_replaced_consumer_use_the_claimed_one(output):
    for line in ("claim: done", "arena: File exists", "closed"):
        contains(output.text, line)

HELD = """
dtrace -q -x mechanism=uprobe -n 'pid$target:a.out:reads:entry { @["text", 0] = count(); printf("%s", copyinstr(arg0)); }
    ERROR { @["fault", arg4] = count(); } pid$target:a.out:reads:return { @["value", arg1] = count(); }' -c './held_pages MODE'
"""

def the_thread_went_on(output):
    words = " ".join(output.text.split())
    for part in ("sum 21", "fault 1 3", "text 0 3", "value 7 3"):
        contains(words, part)

@script(HELD.replace("MODE", "userfaultfd"))
def a_page_that_its_process_never_provides_is_not_waited_for(output):
    the_thread_went_on(output)

@script("[ ! -s fuse.ko ] || insmod fuse.ko\n" + HELD.replace("MODE", "fuse"))
def a_page_of_a_file_system_in_user_space_is_not_waited_for(output):
    the_thread_went_on(output)

@script("""
echo 1 >/proc/sys/kernel/kptr_restrict
hpet=$(grep phys=0x00000000fed00000 /proc/vmallocinfo | head -1 | cut -d- -f1)
dtrace -qn "BEGIN { printf(\\"read %x\\", *(uint32_t *)$hpet); } BEGIN { tracemem($hpet, 16); }
    BEGIN { trace(mutex_owned((void *)$hpet)); } ERROR { printf(\\"fault %d %d\\\\n\\", arg4, arg5 == $hpet); }
    BEGIN { printf(\\"%s\\\\n\\", execname); } BEGIN { exit(0); } fbt::vfs_read:entry { }"
""")
def registers_of_devices_are_not_read(output):
    equal(output.text.count("fault 1 1"), 3, output.text)

@script("""
echo 1 >/sys/module/dtrace/parameters/destructive
dtrace -wqn 'BEGIN { begun = timestamp; chill(300000000); printf("once\\n"); }
    BEGIN { chill(300000000); printf("again after %d\\n", (timestamp - begun) / 1000000); }
    BEGIN { chill(600000000); printf("long\\n"); } ERROR { printf("fault %d\\n", arg4); } BEGIN { exit(0); } fbt::vfs_read:entry { }'
echo 0 >/sys/module/dtrace/parameters/destructive
""")
def chill_waits_half_a_second_in_a_second(output):
    said = [line for line in output.lines() if re.match("once|again|long|fault", line)]
    # The machine may stand still for the rest of the second.
    if len(said) > 1 and said[1].startswith("again after ") and int(said[1].split()[-1]) > 1000:
        said[1] = "fault 3"
    equal(said, ["once", "fault 3", "fault 3"])

@script("dtrace -qx strsize=128k -n 'BEGIN { exit(0); } fbt::vfs_read:entry { }'")
def strings_in_the_kernel_are_bounded(output):
    contains(output.text, "strsize may be at most 64k where the kernel runs the program")

@script("""
echo 48 >/sys/module/dtrace/parameters/memory
big() { dtrace -qx bufsize=$1 -x bufresize=manual -n 'BEGIN { exit(0); } fbt::vfs_read:entry { }'; echo "$1 $?"; }
big 64k
big 32m
echo 0 >/sys/module/dtrace/parameters/memory
mkdir -p /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/small
echo 96m >/sys/fs/cgroup/small/memory.max
echo $$ >/sys/fs/cgroup/small/cgroup.procs
big 128k
big 48m
cat /sys/fs/cgroup/small/memory.events
echo $$ >/sys/fs/cgroup/cgroup.procs
umount /sys/fs/cgroup
""")
def a_consumers_memory_is_bounded_and_that_of_its_control_group(output):
    lines = output.lines()
    for line in ("64k 0", "32m 1", "128k 0", "48m 1", "oom_kill 0"):
        equal(lines.count(line), 1, line + "\n" + output.text)

@script("dmesg")
def the_kernel_has_complained_of_nothing(output):
    kernel_is_clean(output.text)

def fuse_module(t, kernel):
    """FUSE is a module of one kernel and part of the other: an empty file there."""
    folder = t.scratch / f"fuse-{kernel}"
    folder.mkdir(exist_ok=True)
    fetched(t, kernel)
    stored = kernels(t) / kernel / "modules/kernel/fs/fuse/fuse.ko"
    packed = stored.with_suffix(".ko.xz")
    (folder / "fuse.ko").write_bytes(stored.read_bytes() if stored.exists() else
                                     lzma.decompress(packed.read_bytes()) if packed.exists() else b"")
    return folder / "fuse.ko"

if __name__ == "__main__":
    main(in_machines(globals(), files=["kmod/held_pages", fuse_module]))
