/* fds[] cannot be redefined as an inline. */
inline int fds[int n] = n;
BEGIN { exit(0); }
