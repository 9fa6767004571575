/* clear takes no variable. */
BEGIN { x = 1; clear(x); }
