/* The suffix u must precede l. */
BEGIN { x = 1LU; }
