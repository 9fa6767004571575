/*
 * tracemem takes a string, too.
 * @flags: -q
 */
BEGIN { tracemem("ab\001", 4); exit(0); }
