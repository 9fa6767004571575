/* rw_write_held needs a kernel. */
BEGIN { x = rw_write_held(0); }
