/* A member of fds[] has no address. */
BEGIN { trace(&fds[0].fi_offset); }
