/*
 * The error for a struct that the kernel does not have names a similar one.
 */
BEGIN { trace(((struct vmlinux`task_strct *)arg0)->pid); }
