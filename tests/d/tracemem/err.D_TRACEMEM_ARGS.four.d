/* tracemem takes at most three arguments. */
BEGIN { tracemem("abc", 4, 2, 1); }
