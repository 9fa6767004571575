/* The index of fds[] is an integer. */
BEGIN { trace(fds["stdin"].fi_name); }
