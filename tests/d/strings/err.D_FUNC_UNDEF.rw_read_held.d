/* rw_read_held needs a kernel. */
BEGIN { x = rw_read_held(0); }
