/* The members of fds[] must be accessed with a dot. */
BEGIN { trace(fds[0]->fi_name); }
