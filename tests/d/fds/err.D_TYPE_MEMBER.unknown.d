/* fds[] has only the members of fileinfo_t. */
BEGIN { trace(fds[0].fi_nosuch); }
