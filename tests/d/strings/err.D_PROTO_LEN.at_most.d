/* index takes at most three arguments. */
BEGIN { trace(index("abc", "a", 1, 2)); }
