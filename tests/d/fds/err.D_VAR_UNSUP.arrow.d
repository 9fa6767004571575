/* The members of fds[] are accessed with a dot. */
BEGIN { trace(fds[0]->fi_name); }
