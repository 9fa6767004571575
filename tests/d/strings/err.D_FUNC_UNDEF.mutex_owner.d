/* mutex_owner needs a kernel. */
BEGIN { x = mutex_owner(0); }
