/* rw_read_held needs the kernel module. */
BEGIN { x = rw_read_held(0); }
