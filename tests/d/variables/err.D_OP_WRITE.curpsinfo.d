/* curpsinfo cannot be written. */
BEGIN { curpsinfo = 0; }
