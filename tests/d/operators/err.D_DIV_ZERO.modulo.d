/* The remainder of a division by a constant zero is refused. */
BEGIN { x = 1; y = x % (3 - 3); }
