/* rw_write_held needs the kernel module. */
BEGIN { x = rw_write_held(0); }
