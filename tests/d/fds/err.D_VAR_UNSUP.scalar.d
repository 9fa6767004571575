/* fds is nothing without a descriptor. */
BEGIN { trace(fds); }
