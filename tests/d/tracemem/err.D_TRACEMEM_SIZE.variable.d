/* The size that is passed to tracemem must be a constant. */
BEGIN { n = 4; tracemem("abc", n); }
