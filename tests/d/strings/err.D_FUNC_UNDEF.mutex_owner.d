/* mutex_owner needs the kernel module. */
BEGIN { x = mutex_owner(0); }
