/*
 * The error message about a struct that the kernel does not have suggests a similar struct.
 */
BEGIN { trace(((struct vmlinux`task_strct *)arg0)->pid); }
