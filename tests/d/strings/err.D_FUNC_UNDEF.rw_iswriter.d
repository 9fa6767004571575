/* rw_iswriter needs the kernel module. */
BEGIN { x = rw_iswriter(0); }
