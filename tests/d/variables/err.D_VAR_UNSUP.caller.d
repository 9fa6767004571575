/* caller needs the kernel module. */
BEGIN { trace(caller); }
