/* The size that is passed to tracemem must be positive. */
BEGIN { tracemem("abc", 0); }
