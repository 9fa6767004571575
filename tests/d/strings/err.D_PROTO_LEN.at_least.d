/* substr takes at least two arguments. */
BEGIN { trace(substr("abc")); }
