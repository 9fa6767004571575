/* An element of fds[] is nothing without a member. */
BEGIN { trace(fds[0]); }
