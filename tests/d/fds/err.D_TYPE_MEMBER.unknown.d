/* fds[] has the members that fileinfo_t has. */
BEGIN { trace(fds[0].fi_nosuch); }
