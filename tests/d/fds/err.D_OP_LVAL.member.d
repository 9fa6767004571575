/* A member of fds[] cannot be written. */
BEGIN { fds[0].fi_offset = 1; }
