/* fds[] cannot be written. */
BEGIN { fds[0] = 1; }
