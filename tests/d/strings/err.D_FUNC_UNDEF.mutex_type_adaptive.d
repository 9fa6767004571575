/* mutex_type_adaptive needs the kernel module. */
BEGIN { x = mutex_type_adaptive(0); }
