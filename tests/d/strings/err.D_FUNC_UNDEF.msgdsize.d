/* msgdsize exists only on other systems. */
BEGIN { x = msgdsize(0); }
