/* mutex_type_adaptive needs a kernel. */
BEGIN { x = mutex_type_adaptive(0); }
