/* fds[] is there already. */
inline int fds[int n] = n;
BEGIN { exit(0); }
