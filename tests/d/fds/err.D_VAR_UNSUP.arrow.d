/* The members of fds[] are named with a dot. */
BEGIN { trace(fds[0]->fi_name); }
