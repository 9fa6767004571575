/*
 * Without the kernel module nobody can tell the current thread of the kernel.
 */
BEGIN { trace(curthread->pid); }
