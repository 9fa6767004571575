/* rw_iswriter needs a kernel. */
BEGIN { x = rw_iswriter(0); }
