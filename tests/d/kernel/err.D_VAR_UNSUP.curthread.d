/*
 * The kernel's current thread is not available without the kernel module.
 */
BEGIN { trace(curthread->pid); }
