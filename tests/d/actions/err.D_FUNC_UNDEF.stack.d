/* stack needs a kernel. */
BEGIN { stack(); }
