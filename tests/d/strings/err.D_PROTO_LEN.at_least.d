/* substr takes two arguments or three. */
BEGIN { trace(substr("abc")); }
