/* getf needs the kernel module. */
BEGIN { x = getf(1); }
