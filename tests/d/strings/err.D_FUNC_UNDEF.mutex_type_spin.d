/* mutex_type_spin needs a kernel. */
BEGIN { x = mutex_type_spin(0); }
