/* trunc takes no variable. */
BEGIN { x = 1; trunc(x); }
