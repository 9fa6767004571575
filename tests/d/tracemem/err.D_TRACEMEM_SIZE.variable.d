/* The size of tracemem is a constant. */
BEGIN { n = 4; tracemem("abc", n); }
