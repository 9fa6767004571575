/* getf needs a kernel. */
BEGIN { x = getf(1); }
