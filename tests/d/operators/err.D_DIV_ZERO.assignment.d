/* /= by a constant zero is refused. */
BEGIN { x = 1; x /= 0; }
