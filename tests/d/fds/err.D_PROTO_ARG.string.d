/* The index of fds[] must be an integer. */
BEGIN { trace(fds["stdin"].fi_name); }
