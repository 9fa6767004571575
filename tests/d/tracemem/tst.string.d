/*
 * tracemem also accepts a string.
 * @flags: -q
 */
BEGIN { tracemem("ab\001", 4); exit(0); }
