/* The size of tracemem is positive. */
BEGIN { tracemem("abc", 0); }
