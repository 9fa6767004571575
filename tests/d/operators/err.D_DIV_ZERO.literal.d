/* A constant zero does not divide. */
BEGIN { x = 1; y = x / 0; }
