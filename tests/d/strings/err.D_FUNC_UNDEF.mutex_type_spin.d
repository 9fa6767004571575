/* mutex_type_spin needs the kernel module. */
BEGIN { x = mutex_type_spin(0); }
