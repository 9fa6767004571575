/* The suffix u stands before l. */
BEGIN { x = 1LU; }
