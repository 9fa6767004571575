/* curpsinfo is not written. */
BEGIN { curpsinfo = 0; }
