/* An element of fds[] cannot be used without a member. */
BEGIN { trace(fds[0]); }
