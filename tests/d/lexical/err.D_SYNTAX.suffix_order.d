/* The suffix u comes before l. */
BEGIN { x = 1LU; }
