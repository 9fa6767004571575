/* stack needs the kernel module. */
BEGIN { stack(); }
