/* fds cannot be used without a descriptor. */
BEGIN { trace(fds); }
