/*
 * A struct that the kernel has not is named with the one that is near.
 */
BEGIN { trace(((struct vmlinux`task_strct *)arg0)->pid); }
